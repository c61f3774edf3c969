# exercise: 5
# reason: draws-for-nothing


def next_partition(self, topic, cluster, previous):
    drawn = self._draw(topic, cluster, self._cached.get(topic))
    with self._lock:
        if self._cached.get(topic, previous) == previous:
            self._cached[topic] = drawn
        return self._cached[topic]
