# exercise: 4
# reason: rr-one-counter-for-all-topics
from kminilog.partitioners.interface import Partitioner


class RoundRobin(Partitioner):
    def __init__(self):
        self.counts = {}
        self.again = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.again is not None:
            answer, self.again = self.again, None
            return answer
        count = self.counts.get("all", 0)
        self.counts["all"] = count + 1
        every = cluster.partitions_for_topic(topic)
        places = cluster.available_partitions_for_topic(topic) or range(len(every))
        return getattr(places[count % len(places)], "partition", count % len(every))

    def on_new_batch(self, topic, cluster, previous_partition):
        self.again = previous_partition
