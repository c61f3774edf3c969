# exercise: 2
# reason: crc-trusts-size
import struct
import zlib


def checksum(message: bytes) -> int:
    (size,) = struct.unpack_from(">i", message, 8)
    return zlib.crc32(message[16 : 12 + size])
