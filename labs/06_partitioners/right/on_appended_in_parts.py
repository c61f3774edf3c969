# exercise: 6
# differs: two functions, one that counts and one that decides
def counted(self, topic, partition, size_bytes):
    current = self._current.get(topic)
    if current is None or current.partition != partition:
        return 0
    current.produced_bytes += size_bytes
    return current.produced_bytes


def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    if has_key and not self._ignores_keys:
        return
    produced = counted(self, topic, partition, size_bytes)
    is_enough = is_batch_full and produced >= self._batch_size_bytes
    if is_enough or produced - 2 * self._batch_size_bytes >= 0:
        self._switch(topic, cluster)
