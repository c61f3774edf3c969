# exercise: 1
# reason: unwatched-search
from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    low, high = 0, len(base_offsets)
    while low < high:
        middle = (low + high) // 2
        name = base_offsets[middle]
        if name < offset or (name == offset and not dialect.named_by_previous):
            low = middle + 1
        else:
            high = middle
    return max(low - 1, 0)
