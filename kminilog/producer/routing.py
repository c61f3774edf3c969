"""Which partition a record goes to, and what a partitioner must know to choose it.

If the record names a partition, it goes there. Else the partitioner chooses. Partitioners do not
know threads, so a lock here lets in one thread at a time. `has_room` takes the accumulator's lock
inside this one; nothing takes them the other way round. Source: S0 7, S2 3; Kafka:
KafkaProducer.partition.
"""

from collections.abc import Callable, Collection, Mapping
from threading import Lock

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import PartitionOfRecordError
from kminilog.partitioners.interface import Partitioner, partitions_of
from kminilog.partitioners.placement import HasRoom, Placement
from kminilog.producer.record import ProducerRecord


class Routing:
    """A partitioner and its lock; any thread may call it.

    `has_room` answers whether a partition of a topic has an open batch with room for so many bytes.
    `on_error` gets a line if a hook of the partitioner raises.
    """

    def __init__(
        self,
        partitioner: Partitioner,
        has_room: HasRoom,
        *,
        on_error: Callable[[str], object],
    ) -> None:
        self._partitioner = partitioner
        self._placement = Placement(partitioner, has_room)
        self._on_error = on_error
        self._lock = Lock()

    def choose(
        self,
        record: ProducerRecord,
        at_ms: int,
        key_bytes: bytes | None,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
        size_bytes: int,
    ) -> int:
        """Return the partition of a record, created at that time, that needs `size_bytes`.

        Raises UnknownTopicOrPartitionError for a topic or a partition that does not exist, and
        PluginError if a user's partitioner fails.
        """
        topic, key, value, partition, _ = record
        if partition is None:
            with self._lock:
                self._partitioner.on_timestamp(at_ms)
                return self._placement.place(
                    topic, key, key_bytes, value, value_bytes, cluster, size_bytes
                )
        partitions = len(partitions_of(topic, cluster))
        if type(partition) is int and 0 <= partition < partitions:
            return partition
        raise PartitionOfRecordError(topic, partition=partition, partitions=partitions)

    def on_appended(
        self,
        record: ProducerRecord,
        partition: int,
        size_bytes: int,
        *,
        is_batch_full: bool,
        cluster: ClusterMetadata,
    ) -> None:
        """Tell the partitioner that a record is in a batch, unless the record named a partition."""
        if record.partition is None:
            self._tell(
                self._partitioner.on_appended,
                record.topic,
                partition,
                size_bytes,
                has_key=record.key is not None,
                is_batch_full=is_batch_full,
                cluster=cluster,
            )

    def on_queues(
        self,
        queue_sizes: Mapping[str, Mapping[int, int]],
        stalled: Mapping[str, Collection[int]],
        cluster: ClusterMetadata,
    ) -> None:
        """Tell the partitioner how many batches wait, and which partitions' leaders are stalled."""
        for topic, sizes in queue_sizes.items():
            self._tell(self._partitioner.on_queues, topic, sizes, cluster, stalled=stalled[topic])

    def on_failure(self) -> None:
        """Tell the partitioner that the metadata is refreshed, because sending has failed."""
        self._tell(self._partitioner.on_metadata_refresh)

    def close(self) -> None:
        """Close the partitioner."""
        self._tell(self._partitioner.close)

    def _tell(self, hook: Callable[..., object], *told: object, **named: object) -> None:
        """Call a hook; an exception goes to `on_error`, so that it harms no record."""
        try:
            with self._lock:
                hook(*told, **named)
        except Exception as error:  # noqa: BLE001 - it may be the user's
            self._on_error(f"partitioner: {error}")
