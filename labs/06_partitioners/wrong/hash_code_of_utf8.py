# exercise: 13
# reason: hash-code-of-bytes
from kminilog.format.hashing import to_int32


class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        h = 0
        for byte in key.encode():
            h = to_int32(31 * h + byte)
        if self.rule == "abs":
            return 0 if h == -(2**31) else abs(h) % number_of_partitions
        return (h & 0x7FFFFFFF) % number_of_partitions
