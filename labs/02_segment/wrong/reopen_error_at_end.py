# exercise: 4
# reason: error-elsewhere
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    found = scan_segment(segment, segment.last_true_entry())
    if found.reason:
        raise damage_error(segment, segment.file_bytes, found.reason)
    return found.next_offset
