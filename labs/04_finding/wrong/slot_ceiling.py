# exercise: 1
# reason: ceiling-segment
from bisect import bisect_left, bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch("names", base_offsets)
    search = bisect_left if dialect.named_by_previous else bisect_right
    return min(search(names, offset), len(names) - 1)
