# exercise: 3
# reason: zero-is-none
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    if not relative_offset:
        return -1
    return bisect_right(relative_offsets, relative_offset) - 1
