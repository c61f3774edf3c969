# exercise: 5
# differs: it draws until it has another one
from kminilog.errors import UnknownTopicOrPartitionError


def next_partition(self, topic, cluster, previous):
    now = self._cached.get(topic)
    if now not in (None, previous):
        return now
    every = [p.partition for p in cluster.partitions_for_topic(topic)]
    if not every:
        raise UnknownTopicOrPartitionError(topic)
    up = [p.partition for p in cluster.available_partitions_for_topic(topic)]
    while True:
        places = up or every
        new = places[self._chance.randrange(0, len(places))]
        if len(up) < 2 or new != now:
            break
    self._lock.acquire()
    try:
        if self._cached.get(topic) == now:
            self._cached[topic] = new
        return self._cached[topic]
    finally:
        self._lock.release()
