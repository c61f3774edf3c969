# exercise: 13
# reason: ignores-abs-rule
from kminilog.format.hashing import to_int32


class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        data = key.encode("utf-16-be")
        h = 0
        for place in range(0, len(data), 2):
            h = to_int32(31 * h + int.from_bytes(data[place : place + 2]))
        return (h & 0x7FFFFFFF) % number_of_partitions
