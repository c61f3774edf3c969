# exercise: 15
# reason: customer-to-last-colon
from kminilog.partitioners.default_0_8 import HashCodePartitioner


class ByCustomer08:
    def __init__(self, properties):
        self.by_hash_code = HashCodePartitioner(properties)

    def partition(self, key, number_of_partitions):
        customer = key.rsplit(":", 1)[0]
        return self.by_hash_code.partition(customer, number_of_partitions)
