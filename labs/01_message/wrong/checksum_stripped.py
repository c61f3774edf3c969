# exercise: 2
# reason: bytes-stripped
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(message[16:].rstrip())
