"""Records for one partition that travel together, encoded into one buffer of the pool.

    buffer  | message | message | message | room |        format v0, as a produce request carries it

A batch is open until a record does not fit or it is drained; then it is sent, perhaps several
times, and done once. Its offsets count from 0: the leader gives out the real ones.

Source: S2 (batches of the accumulator); Kafka: ProducerBatch, MemoryRecords.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode, encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.producer.record import NO_OFFSET, RecordMetadata

Callback = Callable[[RecordMetadata, Exception | None], object]


class SendFuture(Future[RecordMetadata]):
    """What `send` returns: the place of a record once it is known, or the error.

    Once there is an error, `in_doubt` says where the record is if it was written all the same; None
    if it was not.
    """

    in_doubt: RecordMetadata | None = None

    def cancel(self) -> bool:
        """Return False: what was sent cannot be called back."""
        return False


class Waiting(NamedTuple):
    """A record in a batch: who wants to know what becomes of it."""

    future: SendFuture
    callback: Callback | None


def request_bytes(key: bytes | None, value: bytes | None) -> int:
    """Return how many bytes a record takes in a batch.

    >>> request_bytes(b"key", b"value")
    34
    """
    return encoded_bytes(KAFKA, key, value)


class Batch:
    """One batch; the accumulator that made it is the only one to change it."""

    def __init__(self, topic_partition: TopicPartition, buffer: bytearray, now_ms: int) -> None:
        self.topic_partition = topic_partition
        self.buffer = buffer
        self.size_bytes = 0
        self.created_ms = now_ms
        self.records: list[Waiting] = []
        self.attempts = 0
        self.not_before_ms = now_ms
        self.is_in_flight = False
        self.is_done = False
        self.in_doubt: Sequence[int] = ()
        """Offsets at which an attempt may have left the first records without a word."""
        self._is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether nothing more goes into it."""
        return self._is_closed or self.size_bytes >= len(self.buffer)

    def has_room(self, size_bytes: int) -> bool:
        """Tell if a record of that many bytes fits."""
        return not self._is_closed and self.size_bytes + size_bytes <= len(self.buffer)

    def append(self, key: bytes | None, value: bytes | None, waiting: Waiting) -> None:
        """Encode a record behind the others; there must be room."""
        data = encode(KAFKA, len(self.records), key, value)
        end = self.size_bytes + len(data)
        self.buffer[self.size_bytes : end] = data
        self.size_bytes = end
        self.records.append(waiting)

    def close(self) -> None:
        """Take no more records."""
        self._is_closed = True

    def data(self) -> bytes:
        """Return what to send: a copy, as a network would make one."""
        return bytes(memoryview(self.buffer)[: self.size_bytes])

    def metadata(self, first_offset: int) -> list[RecordMetadata]:
        """Return where each record is, if the first has this offset; NO_OFFSET: nobody knows."""
        topic, partition = self.topic_partition
        step = 0 if first_offset == NO_OFFSET else 1
        return [
            RecordMetadata(topic, partition, first_offset + step * ordinal)
            for ordinal in range(len(self.records))
        ]
