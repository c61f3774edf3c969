# exercise: 3
# reason: builtin-hash


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    return hash(key_bytes) % len(cluster.partitions_for_topic(topic))
