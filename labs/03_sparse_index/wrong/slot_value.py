# exercise: 3
# reason: entry-not-slot
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    slot = bisect_right(relative_offsets, relative_offset) - 1
    return relative_offsets[slot] if slot >= 0 else -1
