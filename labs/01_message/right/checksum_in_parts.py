# exercise: 2
# differs: the checksum grows byte by byte.
import zlib


def checksum(message):
    total = 0
    for place in range(16, len(message)):
        total = zlib.crc32(message[place : place + 1], total)
    return total
