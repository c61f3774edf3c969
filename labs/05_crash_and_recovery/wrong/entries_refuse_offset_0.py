# exercise: 4
# reason: refuses-offset-0
from struct import iter_unpack

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) // 8 * 8)
    before, entries = (0, 0), []
    for number, pair in enumerate(iter_unpack(">ii", data)):
        if pair[0] <= before[0] or pair[1] <= before[1]:
            raise CorruptBytesError("order", position=8 * number)
        before = pair
        entries.append(IndexEntry(*pair))
    return entries
