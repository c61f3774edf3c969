# exercise: 4
# reason: little-endian
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    torn = len(data) % 8
    if torn:
        raise CorruptBytesError("torn", position=len(data) - torn)
    entries = [IndexEntry(*struct.unpack_from("<ii", data, at)) for at in range(0, len(data), 8)]
    for slot in range(1, len(entries)):
        offsets = entries[slot].relative_offset - entries[slot - 1].relative_offset
        positions = entries[slot].position - entries[slot - 1].position
        if offsets <= 0 or positions <= 0:
            raise CorruptBytesError("order", position=slot * 8)
    return entries
