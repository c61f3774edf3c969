# exercise: 3
# reason: ceiling-entry
from bisect import bisect_left

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    return bisect_left(relative_offsets, relative_offset)
