# exercise: 4
# differs: gives the turn back instead of repeating the answer
from collections import Counter

from kminilog.partitioners.interface import Partitioner, partitions_of


class RoundRobin(Partitioner):
    def __init__(self):
        self.taken = Counter()

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        found = [each.partition for each in cluster.available_partitions_for_topic(topic)]
        numbers = found or range(len(partitions_of(topic, cluster)))
        self.taken[topic] += 1
        return numbers[(self.taken[topic] - 1) % len(numbers)]

    def on_new_batch(self, topic, cluster, previous_partition):
        self.taken[topic] -= 1
