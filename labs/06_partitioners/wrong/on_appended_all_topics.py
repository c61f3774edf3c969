# exercise: 6
# reason: sticky-counts-topics-together
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    if has_key and not self._ignores_keys:
        return
    for name, current in list(self._current.items()):
        if current.partition == partition:
            current.produced_bytes += size_bytes
            if current.produced_bytes >= self._batch_size_bytes * (1 if is_batch_full else 2):
                self._switch(name, cluster)
