# exercise: 5
# reason: sticky-moves-twice


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    self._cached[topic] = self._draw(topic, cluster, cached)
    return self._cached[topic]
