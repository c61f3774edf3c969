# exercise: 1
# reason: partition-unsigned
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return (murmur2(key) & 0xFFFFFFFF) % partitions
