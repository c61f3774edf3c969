# exercise: 4
# differs: compares the valid bytes with the size of the file; an exception of its own making.
from kminilog.errors import CorruptLogError
from kminilog.storage.segment.scan import scan_segment


def next_offset(segment):
    found = scan_segment(segment, segment.last_true_entry())
    if found.valid_bytes < segment.file_bytes:
        path, at = str(segment.log_path), found.valid_bytes
        raise CorruptLogError(path, position=at, reason=f"fault: {found.reason}")
    return found.next_offset
