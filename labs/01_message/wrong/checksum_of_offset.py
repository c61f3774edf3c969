# exercise: 2
# reason: crc-of-offset
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(message)
