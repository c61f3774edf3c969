# exercise: 6
# reason: batch-size-fixed
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if current is None or current.partition != partition:
        return
    if has_key and not self._ignores_keys:
        return
    current.produced_bytes += size_bytes
    if current.produced_bytes >= (100 if is_batch_full else 200):
        self._switch(topic, cluster)
