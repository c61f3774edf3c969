# exercise: 13
# reason: murmur2-in-0-8
from kminilog.format.hashing import murmur2


class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        h = murmur2(key.encode())
        if self.rule == "abs":
            return 0 if h == -(2**31) else abs(h) % number_of_partitions
        return (h & 0x7FFFFFFF) % number_of_partitions
