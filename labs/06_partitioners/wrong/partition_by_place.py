# exercise: 3
# reason: key-by-place
def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    every = cluster.partitions_for_topic(topic)
    count = number_of_partitions or len(every)
    place = to_positive(murmur2(key_bytes)) % count
    return every[place].partition if count == len(every) else place
