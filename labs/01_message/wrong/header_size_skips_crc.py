# exercise: 1
# reason: size-skips-crc
import struct


def header(offset: int, content: bytes) -> bytes:
    return struct.pack(">qi", offset, len(content))
