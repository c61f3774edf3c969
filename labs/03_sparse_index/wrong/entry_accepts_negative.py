# exercise: 1
# reason: accepts-negative
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    relative_offset = offset - base_offset
    if max(relative_offset, position) > 2**31 - 1:
        raise ValueError("too great")
    return IndexEntry(relative_offset, position)
