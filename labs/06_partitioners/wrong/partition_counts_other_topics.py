# exercise: 3
# reason: counts-other-topics
from kminilog.format.hashing import murmur2, to_positive
from kminilog.partitioners.interface import partitions_of


def partition(self, topic, key, key_bytes, value, value_bytes, cluster, number_of_partitions=None):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    if number_of_partitions is None:
        partitions_of(topic, cluster)
        number_of_partitions = sum(len(cluster.partitions_for_topic(t)) for t in cluster.topics)
    return to_positive(murmur2(key_bytes)) % number_of_partitions
