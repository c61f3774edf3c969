# exercise: 1
# differs: no bit above the lowest 31 may be set; another kind of ValueError.
from kminilog.format.index_entry import IndexEntry


class TooGreatError(ValueError):
    pass


def entry_for(offset, position, base_offset):
    entry = IndexEntry(offset - base_offset, position)
    if any(number >> 31 for number in entry):
        raise TooGreatError(entry)
    return entry
