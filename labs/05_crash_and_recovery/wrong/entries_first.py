# exercise: 4
# reason: first-entry-unchecked
from itertools import pairwise
from struct import iter_unpack

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if torn := len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) - torn)
    entries = [IndexEntry(*pair) for pair in iter_unpack(">ii", data)]
    for slot, (one, two) in enumerate(pairwise(entries), 1):
        if two[0] <= one[0] or two[1] <= one[1]:
            raise CorruptBytesError("order", position=8 * slot)
    return entries
