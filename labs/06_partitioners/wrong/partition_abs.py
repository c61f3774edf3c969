# exercise: 3
# reason: partition-abs


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    return abs(murmur2(key_bytes)) % len(cluster.partitions_for_topic(topic))
