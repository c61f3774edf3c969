# exercise: 5
# reason: hides-unknown-topic
def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is not None and cached != previous:
        return cached
    try:
        drawn = self._draw(topic, cluster, cached)
    except Exception:
        return previous
    with self._lock:
        if self._cached.get(topic) == cached:
            self._cached[topic] = drawn
        return self._cached[topic]
