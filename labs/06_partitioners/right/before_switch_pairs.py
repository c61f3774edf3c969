# exercise: 14
# differs: it keeps the time with each partition, and looks at it when it is asked for
from kminilog.partitioners.interface import partitions_of


def before_switch(self, topic, key, cluster, now_ms):
    number = len(partitions_of(topic, cluster))
    rounds = self.__dict__.setdefault("rounds", [])
    if not rounds:
        rounds.append(now_ms)
    if self._refresh_interval_ms >= 0 and now_ms - rounds[-1] > self._refresh_interval_ms:
        rounds.append(now_ms)
    if key is not None:
        return self._key_partitioner.partition(key, number)
    made = self.__dict__.setdefault("made", {})
    if topic not in self._cached or made[topic] != rounds[-1]:
        self._cached[topic] = self._random_available(topic, cluster)
        made[topic] = rounds[-1]
    return self._cached[topic]
