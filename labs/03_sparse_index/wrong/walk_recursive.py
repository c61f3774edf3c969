# exercise: 4
# reason: recursion-per-message
from struct import unpack
from zlib import crc32


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    here = position, next_offset
    if next_offset >= offset or len(data) - position < 22:
        return here
    found, size, crc = unpack(">qiI", data[position : position + 16])
    body = data[position + 16 : position + 12 + max(size, 0)]
    if size < 10 or len(body) < size - 4 or (found, crc32(body)) != (next_offset, crc):
        return here
    return walk(data, position + 12 + size, found + 1, offset, start=start, tracer=tracer)
