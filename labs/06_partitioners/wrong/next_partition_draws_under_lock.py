# exercise: 5
# reason: sticky-draws-under-lock
def next_partition(self, topic, cluster, previous):
    with self._lock:
        cached = self._cached.get(topic)
        if cached is None or cached == previous:
            cached = self._cached[topic] = self._draw(topic, cluster, cached)
        return cached
