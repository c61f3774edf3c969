# exercise: 1
# differs: recursion between two bounds
from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)

    def floor(low, high):
        if high - low == 1:
            return low
        middle = (low + high) // 2
        is_behind = names[middle] >= offset if dialect.named_by_previous else names[middle] > offset
        return floor(low, middle) if is_behind else floor(middle, high)

    return floor(0, len(names))
