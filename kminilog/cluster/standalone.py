"""A log dir that answers like a cluster: one broker, which leads every partition and has no copies.

So a producer can write to a plain log dir. What is appended is committed at once. Source: ours;
Kafka: a cluster of one broker.
"""

from collections.abc import Callable

from kminilog.clock import Clock
from kminilog.cluster.metadata import ClusterMetadata, Node, PartitionInfo
from kminilog.cluster.requests import UNKNOWN_OFFSET, Produced, decode_request
from kminilog.errors import KMiniLogError
from kminilog.format.names import TopicPartition
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.partition.notices import warn

NODE = Node(0)


class StandaloneBroker:
    """The Cluster protocol over one writer, which stays the caller's to close.

    It knows the topics that exist when it is made, but not those whose settings file is broken.
    `on_unheard` gets the errors of requests with acks 0, as the broker's own log would: their
    producer does not hear of them. One object, one thread.
    """

    def __init__(
        self,
        log_dir: LogDirWriter,
        clock: Clock,
        *,
        on_unheard: Callable[[KMiniLogError], object] = warn,
    ) -> None:
        self._log_dir = log_dir
        self._clock = clock
        self._on_unheard = on_unheard
        self._metadata = ClusterMetadata(
            [NODE],
            (
                PartitionInfo(*partition, NODE, (NODE,), (NODE,))
                for topic in log_dir.topics(on_broken=lambda error: None)
                for partition in topic.all_partitions()
            ),
        )

    def metadata(self) -> ClusterMetadata:
        """Return the partitions of all topics; the same object each time."""
        return self._metadata

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Append these messages, all or none; see requests.Cluster and PartitionLog.append.

        With acks 0 offsets are unknown (-1), and errors are not raised. Raises ValueError for other
        acks than -1, 0 and 1.
        """
        if acks not in (-1, 0, 1):
            raise ValueError(f"acks is -1, 0 or 1, not {acks}")
        try:
            messages = decode_request(data)
            log = self._log_dir.log(topic_partition)
            offsets = log.append(messages, now_ms=self._clock.now_ms())
        except KMiniLogError as error:
            if acks:
                raise
            self._on_unheard(error)
        else:
            if acks:
                return Produced(offsets.start, offsets.stop, NODE.id, 0)
        return Produced(UNKNOWN_OFFSET, UNKNOWN_OFFSET, NODE.id, 0)

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        """Tell that all in-sync replicas have these messages: there is only this one."""
        return True
