# exercise: 5
# differs: it draws by itself, with another method of its chance
from kminilog.errors import UnknownTopicOrPartitionError


def next_partition(self, topic, cluster, previous):
    with self._lock:
        now = self._cached.get(topic)
    if now is not None and now != previous:
        return now
    every = [p.partition for p in cluster.partitions_for_topic(topic)]
    if not every:
        raise UnknownTopicOrPartitionError(topic)
    up = [p.partition for p in cluster.available_partitions_for_topic(topic)]
    if len(up) > 1:
        up = [p for p in up if p != now]
    new = self._chance.choice(up or every)
    with self._lock:
        if self._cached.get(topic) == now:
            self._cached[topic] = new
        return self._cached[topic]
