# exercise: 16
# differs: it asks the partitioner of Kafka 2.4 about another key: the customer
from random import Random

from kminilog.partitioners.default_2_4 import Default24


class ByCustomer:
    def __init__(self):
        self.other = Default24(Random())

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if key_bytes is not None:
            customer = key_bytes.partition(b":")[0]
            return self.other.partition(topic, key, customer, value, value_bytes, cluster)
        up = [each.partition for each in cluster.available_partitions_for_topic(topic)]
        return [*up, *(each.partition for each in cluster.partitions_for_topic(topic))][0]
