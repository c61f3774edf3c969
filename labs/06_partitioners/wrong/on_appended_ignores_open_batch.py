# exercise: 6
# reason: sticky-ignores-open-batch


def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if not current or current.partition != partition or (has_key and not self._ignores_keys):
        return
    current.produced_bytes += size_bytes
    if current.produced_bytes >= self._batch_size_bytes:
        self._switch(topic, cluster)
