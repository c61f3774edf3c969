# exercise: 1
# reason: linear-scan
from kminilog.storage.segment.lookup import UNTRACED


def segment_slot(dialect, base_offsets, offset, tracer=UNTRACED):
    found = 0
    for slot, name in enumerate(tracer.watch("names", base_offsets)):
        if name < offset or (name == offset and not dialect.named_by_previous):
            found = slot
    return found
