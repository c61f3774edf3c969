# exercise: 3
# reason: keyed-as-keyless
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None or not cluster.available_partitions_for_topic(topic):
        return self._cache.partition(topic, cluster)
    count = number_of_partitions or len(cluster.partitions_for_topic(topic))
    return to_positive(murmur2(key_bytes)) % count
