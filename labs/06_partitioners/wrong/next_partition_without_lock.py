# exercise: 5
# reason: sticky-without-lock
def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is not None and cached != previous:
        return cached
    drawn = self._draw(topic, cluster, cached)
    if self._cached.get(topic) == cached:
        self._cached[topic] = drawn
    return self._cached[topic]
