# exercise: 5
# differs: draws while it has the lock
def next_partition(self, topic, cluster, previous):
    with self._lock:
        cached = self._cached.get(topic)
        if cached is None or cached == previous:
            cached = self._cached[topic] = self._draw(topic, cluster, cached)
        return cached
