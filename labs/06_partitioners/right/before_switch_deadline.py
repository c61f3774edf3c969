# exercise: 14
# differs: a deadline in place of the time of the last refresh; the cache is made anew, not emptied
import math

from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    count = len(partitions_of(topic, cluster))
    begin = now_ms if self._refreshed_ms is None else self._refreshed_ms
    keep = self._refresh_interval_ms if self._refresh_interval_ms >= 0 else math.inf
    if now_ms > begin + keep:
        self._cached, begin = {}, now_ms
    self._refreshed_ms = begin
    if key is not None:
        return self._key_partitioner.partition(key, count)
    try:
        return self._cached[topic]
    except KeyError:
        self._cached[topic] = drawn = self._random_available(topic, cluster)
        return drawn
