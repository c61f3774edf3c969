# exercise: 3
# reason: exact-match-only
from bisect import bisect_left

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    slot = bisect_left(relative_offsets, relative_offset)
    if slot < len(relative_offsets) and relative_offsets[slot] == relative_offset:
        return slot
    return -1
