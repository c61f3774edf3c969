# exercise: 4
# reason: torn-not-first
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    entries = []
    for at in range(0, len(data), 8):
        if len(data) - at < 8:
            raise CorruptBytesError("torn", position=at)
        entry = IndexEntry(*struct.unpack_from(">ii", data, at))
        if entries and not (entries[-1][0] < entry[0] and entries[-1][1] < entry[1]):
            raise CorruptBytesError("order", position=at)
        entries.append(entry)
    return entries
