# exercise: 3
# differs: a recursion with bounds, watched by the tracer.
from kminilog.storage.segment.lookup import ENTRIES, UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    watched = tracer.watch(ENTRIES, relative_offsets)

    def floor(low, high):
        if low == high:
            return low - 1
        middle = (low + high) // 2
        if watched[middle] > relative_offset:
            return floor(low, middle)
        return floor(middle + 1, high)

    return floor(0, len(watched))
