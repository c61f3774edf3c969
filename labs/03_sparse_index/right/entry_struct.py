# exercise: 1
# differs: struct says what fits, and the entry comes from the packed bytes.
import struct

from kminilog.format.index_entry import IndexEntry


def entry_for(offset, position, base_offset):
    try:
        packed = struct.pack(">II", offset - base_offset, position)
    except struct.error as error:
        raise ValueError("not 4 bytes") from error
    if (packed[0] | packed[4]) & 0x80:
        raise ValueError("not 31 bits")
    return IndexEntry._make(struct.unpack(">ii", packed))
