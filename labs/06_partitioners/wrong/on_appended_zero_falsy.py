# exercise: 6
# reason: zero-is-falsy
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    here = current and current.partition
    if not here or here != partition or (has_key and not self._ignores_keys):
        return
    current.produced_bytes += size_bytes
    if current.produced_bytes >= self._batch_size_bytes * (1 if is_batch_full else 2):
        self._switch(topic, cluster)
