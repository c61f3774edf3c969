# exercise: 4
# reason: copies-the-rest
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) // 8 * 8)
    entries, at, last = [], 0, IndexEntry(-1, 0)
    while data:
        entry = IndexEntry(*struct.unpack(">ii", data[:8]))
        if entry[0] <= last[0] or entry[1] <= last[1]:
            raise CorruptBytesError("no order", position=at)
        entries.append(entry)
        data, at, last = data[8:], at + 8, entry
    return entries
