# exercise: 5
# reason: sticky-forgets


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is None or cached == previous:
        return self._draw(topic, cluster, cached)
    return cached
