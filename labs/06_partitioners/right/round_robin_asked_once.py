# exercise: 4
# differs: asks the producer not to ask again
from collections import defaultdict
from itertools import count

from kminilog.partitioners.interface import Partitioner, partitions_of


class RoundRobin(Partitioner):
    is_asked_again = False

    def __init__(self):
        self.turns = defaultdict(count)

    def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
        up = cluster.available_partitions_for_topic(topic)
        turn = next(self.turns[topic])
        if up:
            return up[turn % len(up)].partition
        return turn % len(partitions_of(topic, cluster))
