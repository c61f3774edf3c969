# exercise: 1
# reason: partition-abs
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return abs(murmur2(key)) % partitions
