# exercise: 6
# reason: sticky-ignores-setting
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if not current or current.partition != partition or has_key:
        return
    current.produced_bytes += size_bytes
    if current.produced_bytes >= self._batch_size_bytes * (1 if is_batch_full else 2):
        self._switch(topic, cluster)
