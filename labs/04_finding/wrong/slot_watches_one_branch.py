# exercise: 1
# reason: unwatched-search
from bisect import bisect_left, bisect_right

from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    if dialect.named_by_previous:
        slot = bisect_left(base_offsets, offset) - 1
    else:
        slot = bisect_right(tracer.watch(NAMES, base_offsets), offset) - 1
    return max(slot, 0)
