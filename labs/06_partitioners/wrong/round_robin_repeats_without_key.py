# exercise: 4
# reason: rr-double-step
from kminilog.partitioners.interface import Partitioner, partitions_of


class RoundRobin(Partitioner):
    def __init__(self):
        self.counts = {}
        self.again = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        everything = partitions_of(topic, cluster)
        up = cluster.available_partitions_for_topic(topic)
        again, self.again = self.again, None
        if key is None and again and again[0] == topic:
            return again[1]
        count = self.counts.get(topic, 0)
        self.counts[topic] = count + 1
        return up[count % len(up)].partition if up else count % len(everything)

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = topic, previous_partition
