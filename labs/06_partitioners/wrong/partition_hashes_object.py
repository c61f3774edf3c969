# exercise: 3
# reason: hashes-the-object
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key is None:
        return self._cache.partition(topic, cluster)
    count = number_of_partitions or len(cluster.partitions_for_topic(topic))
    return to_positive(murmur2(str(key).encode())) % count
