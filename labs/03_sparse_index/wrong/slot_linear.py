# exercise: 3
# reason: linear-scan

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    found = -1
    for slot, entry in enumerate(relative_offsets):
        if entry <= relative_offset:
            found = slot
    return found
