# exercise: 2
# reason: crc-of-itself
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(message[12:])
