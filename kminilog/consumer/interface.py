"""Where a consumer reads from: what it asks, whoever answers, and what it hands on.

Source: S1, S3; Kafka: Fetcher, ConsumerRecord.
"""

from typing import NamedTuple, Protocol

from kminilog.format.message import Message
from kminilog.format.names import TopicPartition


class ConsumerRecord(NamedTuple):
    """A message and its place."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition it comes from."""
        return TopicPartition(self.topic, self.partition)


class Source(Protocol):
    """What a consumer needs of a log dir or a cluster."""

    def topics(self) -> dict[str, int]:
        """Return how many partitions each topic has now."""
        ...

    def fetch(self, topic_partition: TopicPartition, offset: int, max_bytes: int) -> list[Message]:
        """Return messages from `offset` on, about `max_bytes` of them; none at the end.

        Raises OffsetOutOfRangeError, UnknownTopicOrPartitionError, and LeaderNotAvailableError if
        nobody can answer now.
        """
        ...

    def beginning(self, topic_partition: TopicPartition) -> int:
        """Return the first offset that can be read; raises as `fetch`."""
        ...

    def end(self, topic_partition: TopicPartition) -> int:
        """Return the offset that the next message to be read will have; raises as `fetch`."""
        ...

    def log_end(self, topic_partition: TopicPartition) -> int:
        """Return the offset that the next message to be written will have; raises as `fetch`.

        Nobody can have read up to a greater one.
        """
        ...
