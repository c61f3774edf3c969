# exercise: 4
# reason: rr-ignores-availability
from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    def __init__(self):
        self.counts = {}
        self.again = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.again is not None:
            answer, self.again = self.again, None
            return answer
        count = self.counts.get(topic, 0)
        self.counts[topic] = count + 1
        every = cluster.partitions_for_topic(topic)
        places = every
        return places[count % len(places)].partition

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = previous_partition
