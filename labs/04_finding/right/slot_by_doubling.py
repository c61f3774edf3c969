# exercise: 1
# differs: steps of powers of two instead of two bounds
from kminilog.storage.segment.lookup import NAMES, UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    names = tracer.watch(NAMES, base_offsets)
    slot = 0
    step = 1 << len(names).bit_length()
    while step := step // 2:
        if slot + step < len(names):
            name = names[slot + step]
            if name < offset or (name == offset and not dialect.named_by_previous):
                slot += step
    return slot
