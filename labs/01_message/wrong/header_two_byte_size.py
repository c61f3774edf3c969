# exercise: 1
# reason: upper-bytes-lost
import struct


def header(offset: int, content: bytes) -> bytes:
    size = (4 + len(content)) % 65536
    return struct.pack(">qHH", offset, 0, size)
