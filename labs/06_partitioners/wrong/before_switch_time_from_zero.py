# exercise: 14
# reason: cached-time-from-zero
from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    if 0 <= self._refresh_interval_ms < now_ms - (self._refreshed_ms or 0):
        self._cached.clear()
        self._refreshed_ms = now_ms
    number = len(partitions_of(topic, cluster))
    if key is not None:
        return self._key_partitioner.partition(key, number)
    if topic not in self._cached:
        self._cached[topic] = self._random_available(topic, cluster)
    return self._cached[topic]
