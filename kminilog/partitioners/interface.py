"""What a partitioner is asked, and when.

    partition             for each record that names no partition
    on_new_batch          the record does not fit into an open batch of the chosen partition; then
                          `partition` is asked again (if `is_asked_again`), before a batch begins
    on_appended           a record went into a batch
    on_queues             before batches are sent: how many wait for each partition
    on_metadata_refresh   the metadata was asked for again, after a failure

All but `partition` may stay as they are here. A partitioner keeps its state to itself, is called by
one thread at a time, and gets its randomness and time when it is made. What it answers is checked
by its caller, with `checked_partition`.

A record that names its partition is none of this: no partitioner is asked, and none hears of it.

Source: S0 2, S2 3; Kafka: Partitioner, and BuiltInPartitioner for the last hooks.
"""

from collections.abc import Collection, Mapping
from typing import Any

from kminilog.client_errors import UnknownTopicOrPartitionError
from kminilog.cluster.metadata import ClusterMetadata, PartitionInfo


class Partitioner:
    """Chooses partitions. Subclasses answer `partition`."""

    is_asked_again = True
    """Whether the producer asks a second time when a batch begins, as Kafka does from 2.4 on."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take the producer's settings, all of them; called once, before anything else."""

    def partition(
        self,
        topic: str,
        key: Any,
        key_bytes: bytes | None,
        value: Any,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        """Return the number of the partition for a record."""
        raise NotImplementedError

    def on_new_batch(self, topic: str, cluster: ClusterMetadata, previous_partition: int) -> None:
        """Hear that a new batch is needed for the partition that was chosen."""

    def on_appended(
        self,
        topic: str,
        partition: int,
        size_bytes: int,
        *,
        has_key: bool,
        is_batch_full: bool,
        cluster: ClusterMetadata,
    ) -> None:
        """Hear that a record of so many bytes is in a batch, and whether that one is full now."""

    def on_queues(
        self,
        topic: str,
        queue_sizes: Mapping[int, int],
        cluster: ClusterMetadata,
        *,
        stalled: Collection[int] = (),
    ) -> None:
        """Hear how many batches wait for each partition that ever had one.

        `stalled` are those whose leader has taken nothing for too long.
        """

    def on_metadata_refresh(self) -> None:
        """Hear that the metadata was asked for again."""

    def close(self) -> None:
        """Hear that the producer is closed."""


def partitions_of(topic: str, cluster: ClusterMetadata) -> tuple[PartitionInfo, ...]:
    """Return the partitions of a topic in metadata order, at least one.

    Raises UnknownTopicOrPartitionError if there is no such topic.
    """
    partitions = cluster.partitions_for_topic(topic)
    if not partitions:
        raise UnknownTopicOrPartitionError(topic)
    return partitions


def check_partition(topic: str, partition: int, cluster: ClusterMetadata) -> int:
    """Return the partition number again if the topic has it; else UnknownTopicOrPartitionError.

    >>> cluster = ClusterMetadata.of_one_topic("orders", [1, 2, 0])
    >>> check_partition("orders", 2, cluster)
    2
    >>> check_partition("orders", 3, cluster)
    Traceback (most recent call last):
    ...
    kminilog.client_errors.UnknownTopicOrPartitionError: Invalid partition id: 3 for topic orders; \
Valid values are in the inclusive range of [0, 2]
    """
    partitions = len(partitions_of(topic, cluster))
    if not isinstance(partition, int) or isinstance(partition, bool):
        raise ValueError(f"a partition is a whole number, not {partition!r}")
    if not 0 <= partition < partitions:
        raise UnknownTopicOrPartitionError(topic, partition=partition, partitions=partitions)
    return partition


def checked_partition(
    partitioner: Partitioner,
    topic: str,
    key: Any,
    key_bytes: bytes | None,
    value: Any,
    value_bytes: bytes | None,
    cluster: ClusterMetadata,
) -> int:
    """Return what a partitioner answers, if the topic has such a partition.

    Raises UnknownTopicOrPartitionError, before it asks if the topic is unknown, and whatever the
    partitioner raises.
    """
    partitions_of(topic, cluster)
    chosen = partitioner.partition(topic, key, key_bytes, value, value_bytes, cluster)
    return check_partition(topic, chosen, cluster)
