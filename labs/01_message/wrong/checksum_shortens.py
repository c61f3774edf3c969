# exercise: 2
# reason: copies-the-rest
import zlib


def checksum(message):
    rest, crc = message[16:], 0
    while rest:
        crc = zlib.crc32(rest[:64], crc)
        rest = rest[64:]
    return crc
