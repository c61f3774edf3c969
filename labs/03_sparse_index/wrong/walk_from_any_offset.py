# exercise: 4
# reason: passes-gap
import struct
from zlib import crc32


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    if position + 8 <= len(data):
        (next_offset,) = struct.unpack_from(">q", data, position)
    while position + 16 <= len(data) and next_offset < offset:
        found, size, crc = struct.unpack_from(">qiI", data, position)
        end = position + 12 + size
        if found != next_offset or size < 10 or crc32(data[position + 16 : end]) != crc:
            break
        position, next_offset = end, next_offset + 1
    return position, next_offset
