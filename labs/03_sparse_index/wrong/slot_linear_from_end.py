# exercise: 3
# reason: linear-scan

from kminilog.storage.segment.lookup import UNTRACED


def entry_slot(relative_offsets, relative_offset, tracer=UNTRACED):
    slot = len(relative_offsets) - 1
    while slot >= 0 and relative_offsets[slot] > relative_offset:
        slot -= 1
    return slot
