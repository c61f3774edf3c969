# exercise: 3
# differs: counts the partitions one by one
from kminilog.partitioners.interface import partitions_of


def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None:
        cached = self._cache._cached.get(topic)
        return self._cache.next_partition(topic, cluster, -1) if cached is None else cached
    numbers = sorted(each.partition for each in partitions_of(topic, cluster))
    if number_of_partitions is not None:
        numbers = range(number_of_partitions)
    return numbers[to_positive(murmur2(key_bytes)) % len(numbers)]
