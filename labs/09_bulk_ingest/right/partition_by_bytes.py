# exercise: 1
# differs: the hash as four bytes, and the first bit of the first one cleared
from kminilog.format.hashing import murmur2


def murmur2_partition(key, partitions):
    first, *rest = murmur2(key).to_bytes(4, "big", signed=True)
    return int.from_bytes([first % 128, *rest], "big") % partitions
