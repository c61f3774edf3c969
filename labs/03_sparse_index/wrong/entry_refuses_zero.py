# exercise: 1
# reason: refuses-zero
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    relative_offset = offset - base_offset
    if not (0 < relative_offset < 2**31 and 0 < position < 2**31):
        raise ValueError("does not fit in 31 bits")
    return IndexEntry(relative_offset, position)
