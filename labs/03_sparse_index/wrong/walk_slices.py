# exercise: 4
# reason: copies-the-rest
import struct
from zlib import crc32


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    rest = data[position:]
    while len(rest) >= 16:
        found, size, crc = struct.unpack(">qiI", rest[:16])
        if found != next_offset or found >= offset or not 10 <= size <= len(rest) - 12:
            break
        if crc32(rest[16 : 12 + size]) != crc:
            break
        rest = rest[12 + size :]
        next_offset += 1
    return len(data) - len(rest), next_offset
