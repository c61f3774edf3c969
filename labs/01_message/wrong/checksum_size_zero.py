# exercise: 2
# reason: crc-trusts-size
import zlib


def checksum(message):
    size = int.from_bytes(message[8:12], "big")
    return zlib.crc32(message[16:]) if size else 0
