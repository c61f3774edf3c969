# exercise: 1
# reason: partition-crc32
from zlib import crc32


def murmur2_partition(key, partitions):
    return crc32(key) % partitions
