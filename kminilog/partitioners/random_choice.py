"""An available partition at random, whatever the key.

If none is available, it is one of all partitions. This partitioner has no state. Records with the
same key lose their order, because they may be in different partitions. Source: S1 3, which names
`random` as a common choice.
"""

from typing import Any

from kminilog.clock import Chance
from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, partitions_of


def any_partition(chance: Chance, topic: str, cluster: ClusterMetadata) -> int:
    """Return a random available partition, or a random one of all if none is available.

    Each is equally likely.
    Raises UnknownTopicOrPartitionError if there is no such topic.
    """
    number_of_partitions = len(partitions_of(topic, cluster))
    available = cluster.available_partitions_for_topic(topic)
    if available:
        return available[chance.randrange(len(available))].partition
    return chance.randrange(number_of_partitions)


class RandomChoice(Partitioner):
    """A partition drawn anew for each record."""

    is_asked_again = False

    def __init__(self, chance: Chance) -> None:
        self._chance = chance

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return any partition; UnknownTopicOrPartitionError for an unknown topic."""
        return any_partition(self._chance, topic, cluster)
