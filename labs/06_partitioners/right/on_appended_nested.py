# exercise: 6
# differs: nested conditions instead of an early return
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    if self._ignores_keys or not has_key:
        current = self._current.get(topic)
        if current is not None and current.partition == partition:
            current.produced_bytes = current.produced_bytes + size_bytes
            batches = current.produced_bytes // self._batch_size_bytes
            if batches >= 2 or (batches == 1 and is_batch_full):
                self._switch(topic, cluster)
