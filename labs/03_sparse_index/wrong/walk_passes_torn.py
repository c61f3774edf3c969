# exercise: 4
# reason: passes-torn
import struct
from zlib import crc32


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    while position + 16 <= len(data):
        found, size, crc = struct.unpack_from(">qiI", data, position)
        end = position + 12 + size
        if found != next_offset or found >= offset or size < 10:
            break
        if crc32(data[position + 16 : end]) != crc:
            break
        position, next_offset = end, next_offset + 1
    return position, next_offset
