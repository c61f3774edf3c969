# exercise: 1
# reason: copies-slices
from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)
    slot = 0
    while len(names) > 1:
        middle = len(names) // 2
        if names[middle] < offset or (names[middle] == offset and not dialect.named_by_previous):
            slot += middle
            names = names[middle:]
        else:
            names = names[:middle]
    return slot
