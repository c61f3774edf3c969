# exercise: 3
# differs: the library's murmur2_partition and partitions_of
from kminilog.partitioners.interface import partitions_of
from kminilog.partitioners.keyed import murmur2_partition


def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    n = len(partitions_of(topic, cluster)) if number_of_partitions is None else number_of_partitions
    match key_bytes:
        case None:
            return self._cache.partition(topic, cluster)
        case bytes():
            return murmur2_partition(key_bytes, n)
