# exercise: 1
# reason: builtin-hash
def murmur2_partition(key, partitions):
    return hash(key) % partitions
