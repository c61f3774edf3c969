# exercise: 4
# differs: a view of the rest grows shorter.
import binascii
import struct


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    rest = memoryview(data)[position:]
    while len(rest) >= 16:
        found, size, crc = struct.unpack(">qiI", rest[:16])
        if found >= offset or found != next_offset or not 10 <= size <= len(rest) - 12:
            break
        if binascii.crc32(rest[16 : 12 + size]) != crc:
            break
        rest = rest[12 + size :]
        next_offset += 1
    return len(data) - len(rest), next_offset
