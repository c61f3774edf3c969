# exercise: 1
# reason: drops-boundary-message
from bisect import bisect_left

from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch("names", base_offsets)
    return max(bisect_left(names, offset) - 1, 0)
