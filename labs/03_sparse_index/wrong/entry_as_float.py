# exercise: 1
# reason: as-float
from kminilog.format.index_entry import IndexEntry


def entry_for(offset: int, position: int, base_offset: int):
    relative_offset = float(offset) - base_offset
    if not (0 <= relative_offset < 2**31 and 0 <= position < 2**31):
        raise ValueError("does not fit in 31 bits")
    return IndexEntry(int(relative_offset), position)
