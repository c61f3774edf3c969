# exercise: 5
# differs: draws by itself, and loops until its change is stored or another one is there
from kminilog.partitioners.interface import partitions_of


def next_partition(self, topic, cluster, previous):
    while True:
        cached = self._cached.get(topic)
        if cached not in (None, previous):
            return cached
        up = [each.partition for each in cluster.available_partitions_for_topic(topic)]
        everything = [each.partition for each in partitions_of(topic, cluster)]
        candidates = [each for each in up if each != cached] or up or everything
        drawn = candidates[self._chance.randrange(len(candidates))]
        with self._lock:
            if self._cached.get(topic) == cached:
                self._cached.update({topic: drawn})
                return drawn
