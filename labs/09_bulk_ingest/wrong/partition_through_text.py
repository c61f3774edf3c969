# exercise: 1
# reason: bytes-as-text
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    return (murmur2(key.decode("utf-8", "replace").encode()) & 0x7FFF_FFFF) % partitions
