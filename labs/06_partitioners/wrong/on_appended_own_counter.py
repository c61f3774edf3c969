# exercise: 6
# reason: sticky-counts-topics-together
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    current = self._current.get(topic)
    if not current or current.partition != partition or (has_key and not self._ignores_keys):
        return
    self.bytes = getattr(self, "bytes", 0) + size_bytes
    if self.bytes >= self._batch_size_bytes * (1 if is_batch_full else 2):
        self.bytes = 0
        self._switch(topic, cluster)
