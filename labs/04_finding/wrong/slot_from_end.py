# exercise: 1
# reason: linear-scan
from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)
    for slot in range(len(names) - 1, 0, -1):
        if names[slot] < offset or (names[slot] == offset and not dialect.named_by_previous):
            return slot
    return 0
