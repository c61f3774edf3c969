# exercise: 1
# differs: bisect over slots, with a key
from bisect import bisect_left

from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)

    def is_behind(slot):
        return names[slot] >= offset if dialect.named_by_previous else names[slot] > offset

    return bisect_left(range(1, len(names)), True, key=is_behind)
