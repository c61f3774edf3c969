# exercise: 3
# reason: partition-crc32
import zlib


def partition(self, topic, key, key_bytes, value, value_bytes, cluster):
    if key_bytes is None:
        return self._cache.partition(topic, cluster)
    return zlib.crc32(key_bytes) % len(cluster.partitions_for_topic(topic))
