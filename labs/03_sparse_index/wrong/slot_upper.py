# exercise: 3
# reason: off-by-one-upper
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    return bisect_right(relative_offsets, relative_offset)
