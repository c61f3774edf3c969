# exercise: 15
# differs: a subclass of 0.8's own partitioner; a regular expression finds the customer
import re

from kminilog.partitioners.default_0_8 import HashCodePartitioner


class ByCustomer08(HashCodePartitioner):
    def partition(self, key, number_of_partitions):
        customer = re.match("[^:]*", key).group()
        return super().partition(customer, number_of_partitions)
