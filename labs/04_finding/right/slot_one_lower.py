# exercise: 1
# differs: one bisect for both dialects; the documented one looks for the offset before
from bisect import bisect_right

from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    wanted = offset - 1 if dialect.named_by_previous else offset
    return max(bisect_right(tracer.watch(NAMES, base_offsets), wanted), 1) - 1
