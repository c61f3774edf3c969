# exercise: 1
# differs: murmur2 of the library, and the mask that keeps 31 bits
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return (murmur2(key) & 0x7FFF_FFFF) % partitions
