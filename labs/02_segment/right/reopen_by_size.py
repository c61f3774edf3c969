# exercise: 4
# differs: examines everything, and compares the valid bytes with the size of the file.
from kminilog.storage.segment.scan import scan_segment
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    found = scan_segment(segment)
    if found.valid_bytes < segment.file_bytes:
        raise damage_error(segment, found.valid_bytes, f"fault: {found.reason}")
    return found.next_offset
