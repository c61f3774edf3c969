# exercise: 1
# reason: size-includes-12
import struct


def header(offset: int, content: bytes) -> bytes:
    return struct.pack(">qi", offset, 12 + 4 + len(content))
