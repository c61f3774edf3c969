# exercise: 4
# reason: rr-repeats-for-others
from kminilog.partitioners.interface import Partitioner, partitions_of


class RoundRobin(Partitioner):
    def __init__(self):
        self.counts = {}
        self.again = False

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        everything = partitions_of(topic, cluster)
        up = cluster.available_partitions_for_topic(topic)
        if self.again:
            self.again = False
            self.counts[topic] = self.counts.get(topic, 1) - 1
        count = self.counts.get(topic, 0)
        self.counts[topic] = count + 1
        return up[count % len(up)].partition if up else count % len(everything)

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = True
