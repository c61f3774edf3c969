# exercise: 1
# reason: unwatched-search
from bisect import bisect_left, bisect_right

from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    find = bisect_left if dialect.named_by_previous else bisect_right
    slot = max(find(base_offsets, offset) - 1, 0)
    assert tracer.watch(NAMES, base_offsets)[slot] is not None
    return slot
