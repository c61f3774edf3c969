# exercise: 13
# reason: builtin-hash
class HashCodePartitioner:
    def __init__(self, properties):
        self.rule = properties["default-0.8.abs"]

    def partition(self, key, number_of_partitions):
        h = hash(key)
        return h % number_of_partitions
