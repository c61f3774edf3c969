# exercise: 1
# reason: wraps-overflow
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    return IndexEntry((offset - base_offset) & 0x7FFFFFFF, position & 0x7FFFFFFF)
