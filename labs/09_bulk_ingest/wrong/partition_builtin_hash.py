# exercise: 1
# reason: builtin-hash
def partition_of(key, partitions):
    return hash(key) % partitions
