# exercise: 4
# differs: a loop over the offsets, with one helper that measures the next message.
from struct import unpack_from
from zlib import crc32


def length_of_next(data, position, expected):
    if len(data) < position + 16:
        return 0
    found, size, crc = unpack_from(">qiI", data, position)
    end = position + 12 + size
    if found != expected or size < 10 or end > len(data):
        return 0
    return 12 + size if crc32(data[position + 16 : end]) == crc else 0


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    for expected in range(next_offset, offset):
        length = length_of_next(data, position, expected)
        if not length:
            return position, expected
        position += length
    return position, max(next_offset, offset)
