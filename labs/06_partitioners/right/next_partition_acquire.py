# exercise: 5
# differs: acquire and release, and the stored value is read once
def next_partition(self, topic, cluster, previous):
    before = self._cached.get(topic, previous)
    if before != previous:
        return before
    drawn = self._draw(topic, cluster, self._cached.get(topic))
    self._lock.acquire()
    try:
        now = self._cached.get(topic, previous)
        if now == previous:
            now = drawn
        self._cached[topic] = now
    finally:
        self._lock.release()
    return now
