# exercise: 4
# reason: compares-as-pairs
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    torn = len(data) % 8
    if torn:
        raise CorruptBytesError("torn", position=len(data) - torn)
    entries = [IndexEntry(*fields) for fields in struct.iter_unpack(">ii", data)]
    for slot in range(1, len(entries)):
        if not entries[slot - 1] < entries[slot]:
            raise CorruptBytesError("order", position=8 * slot)
    return entries
