# exercise: 6
# differs: asks for forgiveness, and keeps both limits in a table
def on_appended(self, topic, partition, size_bytes, *, has_key, is_batch_full, cluster):
    try:
        current = self._current[topic]
    except KeyError:
        return
    counts = not has_key or self._ignores_keys
    current.produced_bytes += size_bytes * (counts and partition == current.partition)
    limits = {True: self._batch_size_bytes, False: 2 * self._batch_size_bytes}
    is_enough = limits[bool(is_batch_full)] <= current.produced_bytes
    if counts and partition == current.partition and is_enough:
        self._switch(topic, cluster)
