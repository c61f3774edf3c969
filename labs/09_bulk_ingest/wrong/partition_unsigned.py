# exercise: 1
# reason: partition-unsigned
from kminilog.format.hashing import murmur2


def partition_of(key, partitions):
    return (murmur2(key) & 0xFFFFFFFF) % partitions
