"""Which partition a record goes to, and what a partitioner must hear to say so.

The record's own partition, if it names one that exists; else the partitioner's answer. Partitioners
know nothing of threads: here is the lock that lets in one at a time. Source: S0 7, S2 3; Kafka:
KafkaProducer.partition.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.partitioners.interface import Partitioner, check_partition
from kminilog.partitioners.placement import Placement
from kminilog.producer.record import ProducerRecord
from kminilog.producer.stalls import Stalls


class Routing:
    """A partitioner at work; any thread may call it.

    `has_room` tells if an open batch of a topic's partition takes so many bytes more; a leader is
    stalled if it takes nothing for longer than `stall_timeout_ms`; 0: never. What the partitioner
    raises when it is only told something goes to `on_error`.
    """

    def __init__(
        self,
        partitioner: Partitioner,
        has_room: Callable[[str, int, int], bool],
        *,
        stall_timeout_ms: int,
        on_error: Callable[[str], object],
    ) -> None:
        self._partitioner = partitioner
        self._placement = Placement(partitioner, has_room)
        self._stall_timeout_ms = stall_timeout_ms
        self._on_error = on_error
        self._stalls = Stalls()
        self._lock = Lock()

    def choose(
        self,
        record: ProducerRecord,
        key_bytes: bytes | None,
        value_bytes: bytes | None,
        cluster: ClusterMetadata,
        size_bytes: int,
    ) -> int:
        """Return the partition for a record that takes so many bytes in a batch.

        Raises UnknownTopicOrPartitionError for a topic or a partition that does not exist, and
        PluginError if a partitioner of the user's fails.
        """
        topic, key, value, partition = record
        if partition is None:
            with self._lock:
                return self._placement.place(
                    topic, key, key_bytes, value, value_bytes, cluster, size_bytes
                )
        return check_partition(topic, partition, cluster)

    def on_appended(
        self,
        record: ProducerRecord,
        partition: int,
        size_bytes: int,
        *,
        is_batch_full: bool,
        cluster: ClusterMetadata,
    ) -> None:
        """Take note that a record is in a batch."""
        if record.partition is None:
            with self._lock, self._noting_errors():
                self._partitioner.on_appended(
                    record.topic,
                    partition,
                    size_bytes,
                    has_key=record.key is not None,
                    is_batch_full=is_batch_full,
                    cluster=cluster,
                )

    def before_round(
        self, queue_sizes: Mapping[str, Mapping[int, int]], cluster: ClusterMetadata
    ) -> None:
        """Take note of how many batches of each topic wait, before some are sent."""
        nodes = self._stalls.nodes(self._stall_timeout_ms) if self._stall_timeout_ms else set()
        with self._lock, self._noting_errors():
            for topic, sizes in queue_sizes.items():
                stalled = [
                    info.partition
                    for info in cluster.available_partitions_for_topic(topic)
                    if info.leader and info.leader.id in nodes
                ]
                self._partitioner.on_queues(topic, sizes, cluster, stalled=stalled)

    def after_round(self, now_ms: int, *, ready: Iterable[int], served: Iterable[int]) -> None:
        """Take note of which leaders could take something, and which did."""
        self._stalls.note(now_ms, ready=ready, served=served)

    def on_failure(self) -> None:
        """Take note that sending failed: the metadata is asked for again."""
        with self._lock, self._noting_errors():
            self._partitioner.on_metadata_refresh()

    def close(self) -> None:
        """Close the partitioner."""
        with self._lock, self._noting_errors():
            self._partitioner.close()

    @contextmanager
    def _noting_errors(self) -> Iterator[None]:
        """What a partitioner raises when it is told something must harm no record."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it may be the user's
            self._on_error(f"partitioner: {error}")
