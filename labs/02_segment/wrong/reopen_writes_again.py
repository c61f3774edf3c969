# exercise: 4
# reason: changes-files
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    found = scan_segment(segment, segment.last_true_entry())
    if found.reason:
        raise damage_error(segment, found.valid_bytes, found.reason)
    segment.log_path.write_bytes(segment.log_path.read_bytes()[: found.valid_bytes])
    return found.next_offset
