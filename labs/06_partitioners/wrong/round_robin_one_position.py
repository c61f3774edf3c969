# exercise: 4
# reason: rr-one-counter-for-all-topics
from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    def __init__(self):
        self.last = None
        self.is_again = False

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.is_again:
            self.is_again = False
            return self.last
        found = cluster.available_partitions_for_topic(topic)
        numbers = [each.partition for each in found]
        numbers = numbers or list(range(len(cluster.partitions_for_topic(topic))))
        place = numbers.index(self.last) + 1 if self.last in numbers else 0
        self.last = numbers[place % len(numbers)]
        return self.last

    def on_new_batch(self, topic, cluster, previous_partition):
        self.is_again = True
