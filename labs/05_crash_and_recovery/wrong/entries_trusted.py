# exercise: 4
# reason: trust-index
import struct

from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import IndexEntry


def decode_entries(data):
    torn = len(data) % 8
    if torn:
        raise CorruptBytesError("torn", position=len(data) - torn)
    entries = [IndexEntry(*struct.unpack_from(">ii", data, at)) for at in range(0, len(data), 8)]
    return entries
