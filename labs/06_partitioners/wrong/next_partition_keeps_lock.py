# exercise: 5
# reason: sticky-keeps-lock
def next_partition(self, topic, cluster, previous):
    self._lock.acquire()
    cached = self._cached.get(topic)
    if cached is not None and cached != previous:
        return cached
    self._cached[topic] = self._draw(topic, cluster, cached)
    self._lock.release()
    return self._cached[topic]
