# exercise: 3
# reason: key-by-available


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    available = cluster.available_partitions_for_topic(topic)
    return available[to_positive(murmur2(key_bytes)) % len(available)].partition
