# exercise: 15
# reason: murmur2-in-0-8
from kminilog.partitioners.keyed import murmur2_partition


class ByCustomer08:
    def __init__(self, properties):
        self.properties = properties

    def partition(self, key, number_of_partitions):
        customer = key.split(":")[0]
        return murmur2_partition(customer.encode(), number_of_partitions)
