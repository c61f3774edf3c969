# exercise: 1
# differs: a textbook bisection that compares the same element twice
from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)
    low, high, found = 0, len(names) - 1, 0
    while low <= high:
        middle = (low + high) // 2
        if names[middle] == offset:
            return max(middle - 1, 0) if dialect.named_by_previous else middle
        elif names[middle] < offset:
            found = middle
            low = middle + 1
        else:
            high = middle - 1
    return found
