# exercise: 6
# reason: sticky-draws-early
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic) or self._switch(topic, cluster)
    if current.partition != partition or (has_key and not self._ignores_keys):
        return
    current.produced_bytes += size_bytes
    batches = current.produced_bytes // self._batch_size_bytes
    if batches > 1 or (batches and is_batch_full):
        self._switch(topic, cluster)
