# exercise: 14
# reason: cached-time-of-topic
from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    number = len(partitions_of(topic, cluster))
    if key is not None:
        return self._key_partitioner.partition(key, number)
    drawn_at = self.__dict__.setdefault("drawn_at", {})
    age_ms = now_ms - drawn_at.get(topic, now_ms)
    if 0 <= self._refresh_interval_ms < age_ms:
        del self._cached[topic]
    if topic not in self._cached:
        self._cached[topic] = self._random_available(topic, cluster)
        drawn_at[topic] = now_ms
    return self._cached[topic]
