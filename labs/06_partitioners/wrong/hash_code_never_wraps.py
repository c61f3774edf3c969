# exercise: 13
# reason: never-wraps
class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        data = key.encode("utf-16-be")
        h = 0
        for place in range(0, len(data), 2):
            h = 31 * h + int.from_bytes(data[place : place + 2])
        return abs(h) % number_of_partitions
