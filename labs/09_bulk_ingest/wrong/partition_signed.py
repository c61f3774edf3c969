# exercise: 1
# reason: partition-signed-mod
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return murmur2(key) % partitions
