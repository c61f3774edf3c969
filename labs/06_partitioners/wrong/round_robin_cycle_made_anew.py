# exercise: 4
# reason: rr-begins-anew
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
        found = cluster.available_partitions_for_topic(topic)
        numbers = [each.partition for each in found]
        numbers = numbers or list(range(len(cluster.partitions_for_topic(topic))))
        if self.cycles.get(topic, (None, None))[0] != numbers:
            self.cycles[topic] = numbers, cycle(numbers)
        return next(self.cycles[topic][1])

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = previous_partition
