# exercise: 1
# reason: little-endian
import struct


def header(offset: int, content: bytes) -> bytes:
    return struct.pack("<qi", offset, 4 + len(content))
