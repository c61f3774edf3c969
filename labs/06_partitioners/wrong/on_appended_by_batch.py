# exercise: 6
# reason: sticky-by-batch


def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if not current or current.partition != partition or (has_key and not self._ignores_keys):
        return
    current.produced_bytes += size_bytes
    if is_batch_full:
        self._switch(topic, cluster)
