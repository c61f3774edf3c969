# exercise: 14
# differs: it begins at the epoch, so the first record empties a cache that is empty; helper functions
from kminilog.errors import UnknownTopicOrPartitionError


def forget_old(self, now_ms):
    last, interval = self._refreshed_ms or 0, self._refresh_interval_ms
    if interval != -1 and now_ms - last > interval:
        self._refreshed_ms = now_ms
        for topic in list(self._cached):
            del self._cached[topic]


def before_switch(self, topic, key, cluster, now_ms):
    every = cluster.partitions_for_topic(topic)
    if not every:
        raise UnknownTopicOrPartitionError(topic)
    if self._refreshed_ms is None:
        self._refreshed_ms = now_ms
    forget_old(self, now_ms)
    if isinstance(key, type(None)):
        cached = self._cached.get(topic, -1)
        if cached < 0:
            cached = self._random_available(topic, cluster)
        return self._cached.setdefault(topic, cached)
    return self._key_partitioner.partition(key, len(every))
