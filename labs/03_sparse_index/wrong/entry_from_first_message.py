# exercise: 1
# reason: counts-from-first-message
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    return IndexEntry(offset - (base_offset + 1), position)
