# exercise: 1
# reason: bytes-stripped
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return (murmur2(key.strip()) & 0x7FFF_FFFF) % partitions
