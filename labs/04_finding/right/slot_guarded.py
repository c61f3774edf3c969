# exercise: 1
# differs: looks at the first name before it searches
from bisect import bisect_left, bisect_right

from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)
    if offset <= names[0]:
        return 0
    if dialect.named_by_previous:
        return bisect_left(names, offset) - 1
    return bisect_right(names, offset) - 1
