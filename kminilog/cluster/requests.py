"""What a client asks of a cluster, whoever answers: the shape of requests and of answers.

A produce request carries messages as Kafka 0.8 sends them: format v0, back to back, in the layout
of the `kafka` dialect whatever the topic's own dialect is. Their offsets mean nothing; the leader
gives them out and stores the messages in the topic's dialect.

Source: S1 3; Kafka: ProduceRequest, ProduceResponse.
"""

from typing import NamedTuple, Protocol

from kminilog.cluster.metadata import ClusterMetadata
from kminilog.errors import CompressedMessageError, CorruptBytesError
from kminilog.format.dialect import KAFKA
from kminilog.format.message import CorruptMessage, KeyValue, NeedMoreBytes, scan
from kminilog.format.names import TopicPartition

UNKNOWN_OFFSET = -1


class Produced(NamedTuple):
    """Where a leader has put the messages of a request; `next_offset` is one past the last."""

    first_offset: int
    next_offset: int
    leader: int
    leader_epoch: int

    @property
    def offsets(self) -> range:
        """The offsets of the messages."""
        return range(self.first_offset, self.next_offset)


class Cluster(Protocol):
    """What a producer needs of a cluster."""

    def metadata(self) -> ClusterMetadata:
        """Return the current leaders and nodes; the same object until something changes."""
        ...

    def produce(self, topic_partition: TopicPartition, data: bytes, *, acks: int) -> Produced:
        """Have the leader append these messages, all or none, and return where they are.

        With acks 0 it does not wait for the answer, and does not hear of errors of the leader. With
        acks -1 ask `is_replicated` until it is true; a Kafka broker keeps such a request itself,
        and answers it late. Raises UnknownTopicOrPartitionError, LeaderNotAvailableError,
        CorruptBytesError if the messages are not valid, and what PartitionLog.append raises.
        """
        ...

    def is_replicated(self, topic_partition: TopicPartition, produced: Produced) -> bool:
        """Tell if all in-sync replicas have these messages.

        Raises NotLeaderForPartitionError if their leader has lost its leadership meanwhile: then
        nobody knows if they are kept.
        """
        ...


def decode_request(data: bytes) -> list[KeyValue]:
    """Return key and value of each message of a produce request, which is in Kafka's layout.

    Raises CorruptBytesError if a message is not valid, or CompressedMessageError.

    >>> from kminilog.format.message import encode
    >>> decode_request(encode(KAFKA, 0, None, b"a") + encode(KAFKA, 0, b"k", b"b"))
    [(None, b'a'), (b'k', b'b')]
    """
    messages: list[KeyValue] = []
    for position, outcome in scan(KAFKA, data):
        if isinstance(outcome, CorruptMessage):
            raise CorruptBytesError(f"{outcome.fault}, {outcome.detail}", position=position)
        if isinstance(outcome, NeedMoreBytes):
            raise CorruptBytesError("an unfinished message", position=position)
        if outcome.is_compressed:
            where = f"byte {position} of a produce request"
            raise CompressedMessageError(outcome.codec, where=where, remedy="send it plain")
        messages.append((outcome.key, outcome.value))
    return messages
