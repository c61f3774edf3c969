# exercise: 2
# differs: the end of a gzip member, which has the same checksum.
import gzip


def checksum(message):
    member = gzip.compress(message[16:], compresslevel=0)
    return int.from_bytes(member[-8:-4], "little")
