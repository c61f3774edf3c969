# exercise: 4
# differs: a class without the base class; it remembers the last partition instead of a count
from kminilog.partitioners.interface import partitions_of


class RoundRobin:
    def __init__(self):
        self.last = {}
        self.repeat = None

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        if self.repeat == topic:
            self.repeat = None
            return self.last[topic]
        order = [each.partition for each in partitions_of(topic, cluster) if each.leader]
        if not order:
            order = sorted(each.partition for each in partitions_of(topic, cluster))
        last = self.last.get(topic)
        place = order.index(last) + 1 if last in order else 0
        self.last[topic] = order[place % len(order)]
        return self.last[topic]

    def on_new_batch(self, topic, cluster, previous_partition):
        self.repeat = topic
