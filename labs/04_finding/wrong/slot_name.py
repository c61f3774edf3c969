# exercise: 1
# reason: name-not-slot
from bisect import bisect_left, bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch("names", base_offsets)
    search = bisect_left if dialect.named_by_previous else bisect_right
    return names[max(search(names, offset) - 1, 0)]
