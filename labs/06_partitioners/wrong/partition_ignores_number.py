# exercise: 3
# reason: ignores-number
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    return to_positive(murmur2(key_bytes)) % len(cluster.partitions_for_topic(topic))
