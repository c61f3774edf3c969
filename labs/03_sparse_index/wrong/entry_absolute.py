# exercise: 1
# reason: absolute-offsets
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    if offset > 2**31 - 1 or position > 2**31 - 1:
        raise ValueError("too great")
    return IndexEntry(offset, position)
