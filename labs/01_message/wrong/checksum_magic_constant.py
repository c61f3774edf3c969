# exercise: 2
# reason: crc-skips-header
import zlib


def checksum(message: bytes) -> int:
    return zlib.crc32(b"\0" + message[17:])
