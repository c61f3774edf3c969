"""The partition of a message with a key: always the same while the number of partitions stays.

All partitions count, available or not. An empty key is a key. Each partitioner decides by itself
about messages without a key. Source: S0 7, S2; Kafka: DefaultPartitioner, Utils.
"""

from kminilog.format.hashing import murmur2, to_positive


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Return the partition, 0 to `partitions` - 1, of a key; O(length of the key).

    >>> murmur2_partition(b"TT0124", 15), murmur2_partition(b"", 15)
    (10, 6)
    """
    return to_positive(murmur2(key)) % partitions
