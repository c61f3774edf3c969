# exercise: 4
# reason: raises-at-end
import struct
from zlib import crc32


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    while next_offset < offset and position < len(data):
        found, size, crc = struct.unpack_from(">qiI", data, position)
        end = position + 12 + size
        if found != next_offset or size < 10 or end > len(data):
            break
        if crc32(data[position + 16 : end]) != crc:
            break
        position, next_offset = end, next_offset + 1
    return position, next_offset
