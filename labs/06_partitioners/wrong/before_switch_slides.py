# exercise: 14
# reason: cached-time-slides
from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    number = len(partitions_of(topic, cluster))
    if self._refreshed_ms is None:
        self._refreshed_ms = now_ms
    if 0 <= self._refresh_interval_ms < now_ms - self._refreshed_ms:
        self._refreshed_ms = now_ms
        self._cached.clear()
    self._refreshed_ms = now_ms
    if key is not None:
        return self._key_partitioner.partition(key, number)
    if topic not in self._cached:
        self._cached[topic] = self._random_available(topic, cluster)
    return self._cached[topic]
