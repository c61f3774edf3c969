# exercise: 1
# reason: swapped-fields
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    return IndexEntry(position, offset - base_offset)
