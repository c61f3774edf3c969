# exercise: 3
# reason: slot-for-none
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    return max(bisect_right(relative_offsets, relative_offset) - 1, 0)
