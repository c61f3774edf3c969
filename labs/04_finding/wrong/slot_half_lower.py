# exercise: 1
# reason: as-float
from bisect import bisect_right

from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch("names", base_offsets)
    searched = offset - 0.5 if dialect.named_by_previous else offset
    return max(bisect_right(names, searched) - 1, 0)
