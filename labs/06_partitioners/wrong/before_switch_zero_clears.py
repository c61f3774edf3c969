# exercise: 14
# reason: zero-is-falsy
from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    number = len(partitions_of(topic, cluster))
    began, interval = self._refreshed_ms, self._refresh_interval_ms
    if not began or 0 <= interval < now_ms - began:
        self._refreshed_ms = now_ms
        self._cached.clear()
    if key is not None:
        return self._key_partitioner.partition(key, number)
    if topic not in self._cached:
        self._cached[topic] = self._random_available(topic, cluster)
    return self._cached[topic]
