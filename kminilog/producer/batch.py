"""Records for one partition that travel together, encoded into one buffer of the pool.

    buffer  | message | message | message | room |        format v0, as a produce request carries it

A batch is open until a record does not fit, or until it is drained. Then it is sent, perhaps
several times, and completed once. Its offsets count from 0; the leader assigns the real ones.

Source: S2 (batches of the accumulator); Kafka: ProducerBatch, MemoryRecords.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import NamedTuple

from kminilog.format.dialect import KAFKA
from kminilog.format.message import encode
from kminilog.format.names import TopicPartition
from kminilog.producer.record import NO_OFFSET, RecordMetadata

Callback = Callable[[RecordMetadata, Exception | None], object]


class SendFuture(Future[RecordMetadata]):
    """The result of `send`: the place of a record once it is known, or the error.

    After an error, `in_doubt` says where the record is if it was written all the same. It is None
    if no attempt can have written it.
    """

    in_doubt: RecordMetadata | None = None

    def cancel(self) -> bool:
        """Return False: a record that was sent cannot be cancelled."""
        return False


class Waiting(NamedTuple):
    """What waits for the result of one record in a batch: its future and its callback."""

    future: SendFuture
    callback: Callback | None


class Batch:
    """One batch; only the accumulator that made it changes it."""

    def __init__(self, topic_partition: TopicPartition, buffer: bytearray, now_ms: int) -> None:
        self.topic_partition = topic_partition
        self.buffer = buffer
        self.size_bytes = 0
        self.created_ms = now_ms
        self.records: list[Waiting] = []  # who waits for each; its bytes are in the buffer
        self.attempts = 0
        self.not_before_ms = now_ms
        self.is_in_flight = False
        self.is_done = False
        self.in_doubt: Sequence[int] = ()
        """Offsets at which a failed attempt may have left the first records."""
        self._is_closed = False

    @property
    def is_full(self) -> bool:
        """Whether it takes no more records."""
        return self._is_closed or self.size_bytes >= len(self.buffer)

    def has_room(self, size_bytes: int) -> bool:
        """Tell if a record of that many bytes fits."""
        return not self._is_closed and self.size_bytes + size_bytes <= len(self.buffer)

    def append(self, key: bytes | None, value: bytes | None, waiting: Waiting) -> None:
        """Encode a record after the others; there must be room."""
        data = encode(KAFKA, len(self.records), key, value)
        end = self.size_bytes + len(data)
        self.buffer[self.size_bytes : end] = data
        self.size_bytes = end
        self.records.append(waiting)

    def close(self) -> None:
        """Take no more records."""
        self._is_closed = True

    def data(self) -> bytes:
        """Return a copy of the bytes to send, as a network would make one. O(bytes)."""
        return bytes(memoryview(self.buffer)[: self.size_bytes])

    def metadata(self, first_offset: int) -> list[RecordMetadata]:
        """Return where each record is, if the first has this offset, which may be NO_OFFSET."""
        topic, partition = self.topic_partition
        step = 0 if first_offset == NO_OFFSET else 1
        return [
            RecordMetadata(topic, partition, first_offset + step * ordinal)
            for ordinal in range(len(self.records))
        ]
