"""What a partitioner is asked, and when.

    on_timestamp          for each record that names no partition: when it was created
    partition             then: where the record goes
    on_new_batch          the record does not fit into an open batch of the chosen partition; then
                          `partition` is asked again (if `is_asked_again`), before a batch begins
    on_appended           a record went into a batch
    on_queues             before batches are sent: how many wait for each partition
    on_metadata_refresh   the metadata was asked for again, after a failure

A subclass must define `partition`; the other methods do nothing by default. One thread at a time
calls a partitioner. It gets its randomness and its clock when it is made. The caller asks it with
`ask_partitioner`, which checks its answers.

If a record names its partition, no method of a partitioner is called for it.

Source: S0 2, S2 3; Kafka: Partitioner, and BuiltInPartitioner for the last hooks.
"""

from collections.abc import Collection, Mapping
from typing import Any

from kminilog.cluster.metadata import ClusterMetadata, PartitionInfo
from kminilog.errors import UnknownTopicOrPartitionError


class Partitioner:
    """Chooses partitions. Subclasses define `partition`."""

    is_asked_again = True
    """Whether the producer asks a second time when a batch begins, as Kafka does from 2.4 on."""

    def configure(self, config: Mapping[str, Any]) -> None:
        """Take all settings of the producer; called once, before any other method."""

    def on_timestamp(self, timestamp_ms: int) -> None:
        """Take note of when the record was created that `partition` is asked about next."""

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
        """Take note that the partition chosen last needs a new batch."""

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
        """Take note that a record of `size_bytes` is in a batch, and whether that is full now."""

    def on_queues(
        self,
        topic: str,
        queue_sizes: Mapping[int, int],
        cluster: ClusterMetadata,
        *,
        stalled: Collection[int] = (),
    ) -> None:
        """Take note of how many batches wait for each partition that ever had one.

        `stalled` has the partitions whose leader has taken no batch for too long.
        """

    def on_metadata_refresh(self) -> None:
        """Take note that the metadata was requested again."""

    def close(self) -> None:
        """Release what the partitioner holds; the producer is being closed."""


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
    kminilog.errors.UnknownTopicOrPartitionError: Invalid partition id: 3 for topic orders; \
Valid values are in the inclusive range of [0, 2]
    """
    partitions = len(partitions_of(topic, cluster))
    if not isinstance(partition, int) or isinstance(partition, bool):
        raise ValueError(f"a partition is a whole number, not {partition!r}")
    if not 0 <= partition < partitions:
        raise UnknownTopicOrPartitionError(topic, partition=partition, partitions=partitions)
    return partition


def ask_partitioner(
    partitioner: Partitioner,
    topic: str,
    key: Any,
    key_bytes: bytes | None,
    value: Any,
    value_bytes: bytes | None,
    cluster: ClusterMetadata,
) -> int:
    """Ask a partitioner, and return its answer if the topic has such a partition.

    Raises UnknownTopicOrPartitionError if not, or if the topic is unknown; then it does not ask.
    Exceptions of the partitioner pass through.
    """
    partitions = len(partitions_of(topic, cluster))
    chosen = partitioner.partition(topic, key, key_bytes, value, value_bytes, cluster)
    if type(chosen) is int and 0 <= chosen < partitions:  # nearly always: the quick test first
        return chosen
    return check_partition(topic, chosen, cluster)
