# exercise: 4
# reason: trust-index
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    entries = segment.index.entries()
    scan = scan_segment(segment, entries[-1] if entries else None)
    if scan.reason:
        raise damage_error(segment, scan.valid_bytes, scan.reason)
    return scan.next_offset
