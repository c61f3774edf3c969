# exercise: 5
# reason: sticky-overwrites


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is None or cached == previous:
        drawn = self._draw(topic, cluster, cached)
        with self._lock:
            self._cached[topic] = drawn
    return self._cached[topic]
