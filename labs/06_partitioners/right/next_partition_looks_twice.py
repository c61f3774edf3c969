# exercise: 5
# differs: takes the lock twice, to look and to change, and draws in between
def next_partition(self, topic, cluster, previous):
    with self._lock:
        before = self._cached.get(topic)
    if before not in (None, previous):
        return before
    drawn = self._draw(topic, cluster, before)
    with self._lock:
        now = self._cached.get(topic)
        if now != before:
            return now
        self._cached[topic] = drawn
    return drawn
