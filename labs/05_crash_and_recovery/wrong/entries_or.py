# exercise: 4
# reason: one-ascends-is-enough
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    torn = len(data) % 8
    if torn:
        raise CorruptBytesError("torn", position=len(data) - torn)
    entries = [IndexEntry(*fields) for fields in struct.iter_unpack(">ii", data)]
    for slot in range(1, len(entries)):
        a, b = entries[slot - 1], entries[slot]
        if a[0] >= b[0] and a[1] >= b[1]:
            raise CorruptBytesError("order", position=8 * slot)
    return entries
