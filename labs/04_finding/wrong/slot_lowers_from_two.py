# exercise: 1
# reason: own-name-in-documented
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch("names", base_offsets)
    if dialect.named_by_previous and offset > 1:
        offset -= 1
    return max(bisect_right(names, offset) - 1, 0)
