# exercise: 1
# reason: accepts-overflow
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    return IndexEntry(offset - base_offset, position)
