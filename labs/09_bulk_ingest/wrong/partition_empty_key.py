# exercise: 1
# reason: empty-as-null
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return (murmur2(key) & 0x7FFF_FFFF) % partitions if key else 0
