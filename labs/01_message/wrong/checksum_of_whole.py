# exercise: 2
# reason: crc-whole
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(message[:12] + bytes(4) + message[16:])
