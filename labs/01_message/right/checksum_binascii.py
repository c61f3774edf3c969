# exercise: 2
# differs: binascii instead of zlib, on a memoryview.
from binascii import crc32


def checksum(message):
    return crc32(memoryview(message)[16:])
