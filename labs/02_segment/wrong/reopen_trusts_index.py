# exercise: 4
# reason: trust-index
from kminilog.storage.segment import damage_error
from kminilog.storage.segment_scan import examine


def next_offset(segment):
    entries = segment.index.entries()
    examined = examine(segment, entries[-1] if entries else None)
    if examined.fault:
        raise damage_error(segment, examined.valid_bytes, examined.fault)
    return examined.next_offset
