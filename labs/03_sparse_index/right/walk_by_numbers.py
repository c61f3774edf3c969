# exercise: 4
# differs: int.from_bytes instead of struct, and an error of its own at the end.
import zlib


def number(data, place, length):
    part = data[place : place + length]
    if len(part) < length:
        raise EOFError
    return int.from_bytes(part, "big")


def walk(data, position, next_offset, offset, *, start=0, tracer=None):
    try:
        while next_offset < offset and number(data, position, 8) == next_offset:
            size = number(data, position + 8, 4)
            crc = number(data, position + 12, 4)
            end = position + 12 + size
            if size < 10 or end > len(data) or zlib.crc32(data[position + 16 : end]) != crc:
                break
            position, next_offset = end, next_offset + 1
    except EOFError:
        pass
    return (position, next_offset)
