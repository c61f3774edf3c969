# exercise: 3
# reason: partition-unsigned


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    return (murmur2(key_bytes) & 0xFFFFFFFF) % len(cluster.partitions_for_topic(topic))
