"""What any broker can tell a client: which nodes there are, and who leads which partition.

Plain values. The lists keep the order in which the metadata names the partitions. This need not be
the order of their numbers, and partitioners that use the index in the list depend on it. A
partition is available if it has a leader.

Source: S0 1; Kafka: Node, PartitionInfo, Cluster.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Node(NamedTuple):
    """One broker: its id, and the address at which it answers."""

    id: int
    host: str = "localhost"
    port: int = 9092


class PartitionInfo(NamedTuple):
    """The state of one partition; `leader` is None if no replica can lead.

    `replicas` are all brokers that have a copy, the preferred leader first. `in_sync_replicas` are
    those of them that lack nothing committed, `offline_replicas` those that are down.
    """

    topic: str
    partition: int
    leader: Node | None
    replicas: tuple[Node, ...] = ()
    in_sync_replicas: tuple[Node, ...] = ()
    offline_replicas: tuple[Node, ...] = ()


class ClusterMetadata:
    """The nodes that are up and all partitions, as of one moment; it never changes.

    >>> one, two = Node(1), Node(2)
    >>> cluster = ClusterMetadata([one, two], [
    ...     PartitionInfo("orders", 1, None), PartitionInfo("orders", 0, one)])
    >>> [info.partition for info in cluster.partitions_for_topic("orders")]
    [1, 0]
    >>> [info.partition for info in cluster.available_partitions_for_topic("orders")]
    [0]
    >>> cluster.partitions_for_topic("bills")
    ()
    >>> cluster.leader_for("orders", 1) is None
    True
    """

    def __init__(self, nodes: Iterable[Node], partitions: Iterable[PartitionInfo]) -> None:
        self.nodes = tuple(nodes)
        by_topic: dict[str, list[PartitionInfo]] = {}
        for info in partitions:
            by_topic.setdefault(info.topic, []).append(info)
        self._partitions = {topic: tuple(infos) for topic, infos in by_topic.items()}
        self._available = {
            topic: tuple(info for info in infos if info.leader is not None)
            for topic, infos in by_topic.items()
        }
        self._by_number = {
            (info.topic, info.partition): info for infos in by_topic.values() for info in infos
        }

    @classmethod
    def of_one_topic(
        cls, topic: str, order: Sequence[int], unavailable: Iterable[int] = ()
    ) -> "ClusterMetadata":
        """Return metadata for trying out a partitioner: one node, one topic.

        >>> cluster = ClusterMetadata.of_one_topic("orders", [1, 2, 0], unavailable=[1])
        >>> [info.partition for info in cluster.available_partitions_for_topic("orders")]
        [2, 0]
        """
        node = Node(0)
        down = set(unavailable)
        return cls([node], [PartitionInfo(topic, p, None if p in down else node) for p in order])

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of all topics, in the order in which they are named first."""
        return tuple(self._partitions)

    def partitions_for_topic(self, topic: str) -> tuple[PartitionInfo, ...]:
        """Return all partitions of a topic in metadata order; none for an unknown topic."""
        return self._partitions.get(topic, ())

    def available_partitions_for_topic(self, topic: str) -> tuple[PartitionInfo, ...]:
        """Return the partitions that have a leader, in metadata order."""
        return self._available.get(topic, ())

    def partition(self, topic: str, partition: int) -> PartitionInfo | None:
        """Return what is known of one partition, None if there is no such partition."""
        return self._by_number.get((topic, partition))

    def leader_for(self, topic: str, partition: int) -> Node | None:
        """Return the leader of a partition, None if it has none or does not exist."""
        info = self._by_number.get((topic, partition))
        return info.leader if info else None
