# exercise: 5
# reason: sticky-never-moves


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is None:
        self._cached[topic] = self._draw(topic, cluster, cached)
    return self._cached[topic]
