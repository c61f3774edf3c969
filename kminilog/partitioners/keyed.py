"""Where a message with a key goes: always the same place, as long as the partitions stay the same.

All partitions count, available or not. An empty key is a key. Where messages without a key go is
decided elsewhere. Source: S0 7, S2; Kafka: DefaultPartitioner, Utils.
"""

from kminilog.format.hashing import murmur2, to_positive


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Return the partition, 0 to `partitions` - 1, of a key; O(length of the key).

    >>> murmur2_partition(b"TT0124", 15), murmur2_partition(b"", 15)
    (10, 6)
    """
    return to_positive(murmur2(key)) % partitions
