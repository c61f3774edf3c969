# exercise: 3
# reason: no-key-does-not-stick
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None:
        return self._cache._draw(topic, cluster, None)
    count = number_of_partitions or len(cluster.partitions_for_topic(topic))
    return to_positive(murmur2(key_bytes)) % count
