# exercise: 1
# reason: partition-signed-mod
from kminilog.format.hashing import murmur2


def partition_of(key, partitions):
    return murmur2(key) % partitions
