# exercise: 1
# reason: partition-abs
from kminilog.format.hashing import murmur2


def partition_of(key, partitions):
    return abs(murmur2(key)) % partitions
