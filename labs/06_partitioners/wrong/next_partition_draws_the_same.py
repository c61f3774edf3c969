# exercise: 5
# reason: sticky-draws-the-same


def next_partition(self, topic, cluster, previous):
    cached = self._cached.get(topic)
    if cached is None or cached == previous:
        self._cached[topic] = self._draw(topic, cluster, None)
    return self._cached[topic]
