# exercise: 1
# reason: accepts-unsigned
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    relative_offset = offset - base_offset
    if not (0 <= relative_offset < 2**32 and 0 <= position < 2**32):
        raise ValueError("an entry has 4 bytes for each number")
    return IndexEntry(relative_offset, position)
