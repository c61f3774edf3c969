# exercise: 15
# reason: ignores-abs-rule
from kminilog.format.java_hashing import java_hash


class ByCustomer08:
    def __init__(self, properties):
        self.properties = properties

    def partition(self, key, number_of_partitions):
        customer = key.split(":")[0]
        return (java_hash(customer) & 0x7FFFFFFF) % number_of_partitions
