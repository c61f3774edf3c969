# exercise: 4
# reason: error-elsewhere
from kminilog.storage.segment import damage_error
from kminilog.storage.segment_scan import scan_segment


def next_offset(segment):
    found = scan_segment(segment, segment.last_true_entry())
    if found.reason:
        raise damage_error(segment, segment.file_bytes, found.reason)
    return found.next_offset
