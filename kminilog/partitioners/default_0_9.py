"""Kafka 0.9 to 2.3: the hash of a key, or in turn without one.

One counter for all topics, so two topics that are sent to alternately each get every second turn.
It starts anywhere, moves by one with each record without key, and wraps from 2**31 - 1 to -2**31;
`to_positive` keeps the turn going there. From 0.10.2 on Kafka counts for each topic.

Source: S0 7, S2; Kafka: DefaultPartitioner of 0.9.
"""

from typing import Any

from kminilog.clock import Chance
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.format.hashing import to_int32, to_positive
from kminilog.partitioners.interface import Partitioner, partitions_of
from kminilog.partitioners.keyed import murmur2_partition


def turn(count: int, topic: str, cluster: ClusterMetadata) -> int:
    """Return whose turn it is: available partitions by place, else all of them by number.

    Raises UnknownTopicOrPartitionError if there is no such topic.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [1, 2, 0], unavailable=[1])
    >>> [turn(count, "orders", cluster) for count in range(4)]
    [2, 0, 2, 0]
    >>> nobody = ClusterMetadata.of_one_topic("orders", [1, 2, 0], unavailable=[0, 1, 2])
    >>> [turn(count, "orders", nobody) for count in range(4)]
    [0, 1, 2, 0]
    """
    number_of_partitions = len(partitions_of(topic, cluster))
    available = cluster.available_partitions_for_topic(topic)
    if available:
        return available[to_positive(count) % len(available)].partition
    return to_positive(count) % number_of_partitions


class Default09(Partitioner):
    """Murmur2 for keys, round robin with one counter for the rest.

    `start` is the counter's first value, a signed 32-bit number; drawn from `chance` if not given.
    """

    is_asked_again = False

    def __init__(self, chance: Chance, *, start: int | None = None) -> None:
        self._counter = to_int32(chance.getrandbits(32) if start is None else start)

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the partition of a record; UnknownTopicOrPartitionError for an unknown topic."""
        if key_bytes is not None:
            return murmur2_partition(key_bytes, len(partitions_of(topic, cluster)))
        chosen = turn(self._counter, topic, cluster)
        self._counter = to_int32(self._counter + 1)
        return chosen
