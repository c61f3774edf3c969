# exercise: 3
# reason: empty-as-null


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if not key_bytes:
        return self._cache.partition(topic, cluster)
    return to_positive(murmur2(key_bytes)) % len(cluster.partitions_for_topic(topic))
