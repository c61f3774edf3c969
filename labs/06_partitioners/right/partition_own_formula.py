# exercise: 3
# differs: the remainder of a shifted number instead of to_positive
from kminilog.partitioners.interface import partitions_of


def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is not None:
        unsigned = murmur2(key_bytes) + 2**32
        everything = number_of_partitions or len(partitions_of(topic, cluster))
        return unsigned % 2**31 % everything
    return self._cache.partition(topic, cluster)
