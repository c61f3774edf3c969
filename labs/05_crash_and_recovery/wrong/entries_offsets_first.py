# exercise: 4
# reason: names-later-fault
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    if len(data) % 8:
        raise CorruptBytesError("torn", position=len(data) // 8 * 8)
    entries = [IndexEntry(*fields) for fields in struct.iter_unpack(">ii", data)]
    for column, least in ((0, -1), (1, 0)):
        for slot, entry in enumerate(entries):
            if entry[column] <= least:
                raise CorruptBytesError("no order", position=8 * slot)
            least = entry[column]
    return entries
