# exercise: 3
# reason: asks-cache-for-keys
from kminilog.format.hashing import murmur2, to_positive
from kminilog.partitioners.interface import partitions_of


def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    sticky = self._cache.partition(topic, cluster)
    number = number_of_partitions or len(partitions_of(topic, cluster))
    return sticky if key_bytes is None else to_positive(murmur2(key_bytes)) % number
