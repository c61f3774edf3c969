# exercise: 4
# reason: changes-files
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    scan = scan_segment(segment, segment.last_true_entry())
    if scan.reason:
        segment.truncate_to(scan.valid_bytes, len(segment.index))
        raise damage_error(segment, scan.valid_bytes, scan.reason)
    return scan.next_offset
