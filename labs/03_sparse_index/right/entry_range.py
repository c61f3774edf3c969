# exercise: 1
# differs: a range says what fits, and the fields are given by name.
from kminilog.format.index_entry import IndexEntry

FITS = range(2**31)


def entry_for(offset, position, base_offset):
    if offset - base_offset not in FITS or position not in FITS:
        raise ValueError(f"{offset} - {base_offset} or {position} does not fit")
    return IndexEntry(position=position, relative_offset=offset - base_offset)
