# exercise: 4
# reason: rr-repeats-for-others
from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    def __init__(self):
        self.counts = {}
        self.again = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.again is not None:
            answer, self.again = self.again, None
            return answer
        found = cluster.available_partitions_for_topic(topic)
        numbers = [each.partition for each in found]
        numbers = numbers or list(range(len(cluster.partitions_for_topic(topic))))
        count = self.counts[topic] = self.counts.get(topic, -1) + 1
        return numbers[count % len(numbers)]

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = previous_partition
