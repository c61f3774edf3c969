# exercise: 2
# reason: crc-skips-header
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(message[18:], zlib.crc32(b"\0\0"))
