# exercise: 1
# reason: limits-whole-offset
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    if not (base_offset <= offset < 2**31 and 0 <= position < 2**31):
        raise ValueError("does not fit in 31 bits")
    return IndexEntry(offset - base_offset, position)
