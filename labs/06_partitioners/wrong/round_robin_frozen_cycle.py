# exercise: 4
# reason: rr-freezes-partitions
from itertools import cycle

from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    def __init__(self):
        self.cycles = {}
        self.again = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.again is not None:
            answer, self.again = self.again, None
            return answer
        if topic not in self.cycles:
            found = cluster.available_partitions_for_topic(topic)
            numbers = [each.partition for each in found]
            self.cycles[topic] = cycle(numbers or range(len(cluster.partitions_for_topic(topic))))
        return next(self.cycles[topic])

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = previous_partition
