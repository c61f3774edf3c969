# exercise: 4
# reason: ignores-checksum
import struct


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    while position + 16 <= len(data):
        found, size, _ = struct.unpack_from(">qiI", data, position)
        end = position + 12 + size
        if found != next_offset or found >= offset or size < 10 or end > len(data):
            break
        position, next_offset = end, next_offset + 1
    return position, next_offset
