# exercise: 13
# reason: abs-of-unsigned
class HashCodePartitioner:
    def __init__(self, properties):
        self.kept = 0x7FFFFFFF if properties["default-0.8.abs"] == "mask" else 0xFFFFFFFF

    def partition(self, key, number_of_partitions):
        data = key.encode("utf-16-be")
        h = 0
        for place in range(0, len(data), 2):
            h = 31 * h + int.from_bytes(data[place : place + 2])
        return (h & self.kept) % number_of_partitions
