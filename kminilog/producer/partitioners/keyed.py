"""Where a message with a key goes: always the same place, as long as the partitions stay the same.

The rule of Kafka's default partitioner from 0.9 on. It looks at all partitions, available or not,
and at the serialised key; an empty key is a key. Where messages without a key go is not decided
here. Source: S0 7, S2; Kafka: DefaultPartitioner, Utils.
"""

from collections.abc import Callable

from kminilog.format.hashing import murmur2, to_positive

KeyedRule = Callable[[bytes, int], int]


def murmur2_partition(key: bytes, partitions: int) -> int:
    """Return the partition, 0 to `partitions` - 1, of a key; O(length of the key).

    >>> murmur2_partition(b"TT0124", 15), murmur2_partition(b"", 15)
    (10, 6)
    """
    return to_positive(murmur2(key)) % partitions


KEYED_RULES: dict[str, KeyedRule] = {"default-2.4": murmur2_partition}


def keyed_rule(partitioner: str) -> KeyedRule:
    """Return the keyed rule of a partitioner; ValueError that lists those there are.

    >>> keyed_rule("default-2.4")(b"21", 3)
    0
    """
    try:
        return KEYED_RULES[partitioner]
    except KeyError:
        known = ", ".join(KEYED_RULES)
        raise ValueError(f"no partitioner {partitioner!r}; there is: {known}") from None
