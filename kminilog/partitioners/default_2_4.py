"""Kafka 2.4 to 3.2: the hash of a key, or sticking to a partition without one.

A key chooses among all partitions, available or not; only records without key look at availability.
A record with a key may begin a batch, too. If its partition is the sticky one, the sticky partition
moves on; if there is none yet, one is drawn.

Source: S0 7; Kafka: DefaultPartitioner of 2.4 (KIP-480).
"""

from typing import Any

from kminilog.clock import Chance
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, partitions_of
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.partitioners.sticky import StickyPartitionCache


class Default24(Partitioner):
    """Murmur2 for keys, the sticky cache for the rest."""

    def __init__(self, chance: Chance) -> None:
        self._cache = StickyPartitionCache(chance)

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
        number_of_partitions: int | None = None,
    ) -> int:
        """Return the partition of a record; UnknownTopicOrPartitionError for an unknown topic.

        The documents show a second form of this method: with `number_of_partitions`, 1 at least,
        a key goes to one of so many.
        """
        if key_bytes is None:
            return self._cache.partition(topic, cluster)
        if number_of_partitions is None:
            number_of_partitions = len(partitions_of(topic, cluster))
        return murmur2_partition(key_bytes, number_of_partitions)

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Move the sticky partition on, if it is the one whose batch has no room."""
        self._cache.next_partition(topic, cluster, previous_partition)
