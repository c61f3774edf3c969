# exercise: 4
# reason: changes-files
from kminilog.storage.segment import damage_error
from kminilog.storage.segment_scan import examine


def next_offset(segment):
    examined = examine(segment, segment.last_entry())
    if examined.fault:
        segment.truncate_to(examined.valid_bytes, len(segment.index))
        raise damage_error(segment, examined.valid_bytes, examined.fault)
    return examined.next_offset
