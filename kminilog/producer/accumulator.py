"""Where records wait for their batch to be sent: a queue of batches for each partition.

    append  -->  [ batch, batch, open batch ]  -->  drain  -->  in flight  -->  complete
                   first to be sent                   ^                     |
                                                      +----- put_back <-----+   after a failure

Invariants
    A1  of each partition at most one batch is in flight; the next one is sent when that is
        complete: so the order of a partition is kept over retries
    A2  the buffer of a batch goes back to the pool when the batch is complete, never while it is in
        flight: somebody might still read it (KAFKA-19012)

A batch is ready once it is full, another batch follows it, or linger.ms is over. During a flush,
and while a call waits for memory, all batches are ready. Source: S2; Kafka: RecordAccumulator.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any, NamedTuple

from kminilog.clock import Clock
from kminilog.errors import ClientClosedError
from kminilog.format.names import TopicPartition
from kminilog.producer.batch import Batch, Waiting
from kminilog.producer.buffer_pool import BufferPool


class Appended(NamedTuple):
    """Whether the batch of a record is full now, and whether it began with this record."""

    is_batch_full: bool
    is_batch_new: bool


def release(batch: Batch, pool: BufferPool) -> None:
    """Mark a batch as done; its buffer goes back to the pool unless the batch is in flight."""
    batch.is_done = True
    if not batch.is_in_flight:
        pool.deallocate(batch.buffer)


class Accumulator:
    """The queues of one producer. Any thread may append; one thread drains.

    `config` is the producer's complete config.
    """

    def __init__(self, config: Mapping[str, Any], pool: BufferPool, clock: Clock) -> None:
        self._batch_size_bytes: int = config["batch.size"]
        self._linger_ms: int = config["linger.ms"]
        self._max_block_ms: int = config["max.block.ms"]
        self._pool = pool
        self._clock = clock
        self._lock = Lock()
        self._queues: dict[TopicPartition, deque[Batch]] = {}
        self._in_flight: dict[TopicPartition, Batch] = {}
        self._flush_count = 0
        self._is_closed = False

    # ---- for those who send records

    def close_unless_room(self, topic: str, partition: int, size_bytes: int) -> bool:
        """Close the partition's open batch unless it has room for a record; tell if it has.

        A closed batch does not linger: it is ready, wherever the record goes.
        """
        with self._lock:
            return self._batch_with_room(TopicPartition(topic, partition), size_bytes) is not None

    def append(
        self,
        topic_partition: TopicPartition,
        key: bytes | None,
        value: bytes | None,
        size_bytes: int,
        waiting: Waiting,
    ) -> Appended:
        """Put a record of `size_bytes` into the open batch of its partition, or into a new one.

        Waits for memory if a new batch needs it. Raises BufferExhaustedError if there is none
        within max.block.ms, ValueError for a record above buffer.memory, and ClientClosedError.
        """
        with self._lock:
            batch = self._batch_with_room(topic_partition, size_bytes)
            if batch:  # so the accumulator is open: `close` empties all queues
                batch.append(key, value, waiting)
                return Appended(batch.is_full, is_batch_new=False)
        # Not under the lock: the thread that drains needs it to bring memory back.
        buffer = self._pool.allocate(max(self._batch_size_bytes, size_bytes), self._max_block_ms)
        with self._lock:
            batch = self._batch_with_room(topic_partition, size_bytes)
            if batch or self._is_closed:  # another thread was faster
                self._pool.deallocate(buffer)
            self._refuse_if_closed()
            is_new = batch is None
            if batch is None:
                batch = Batch(topic_partition, buffer, self._clock.now_ms())
                self._queues.setdefault(topic_partition, deque()).append(batch)
            batch.append(key, value, waiting)
            return Appended(batch.is_full, is_new)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClientClosedError("producer")

    def _batch_with_room(self, topic_partition: TopicPartition, size_bytes: int) -> Batch | None:
        queue = self._queues.get(topic_partition)
        if not queue:
            return None
        batch = queue[-1]
        if batch.has_room(size_bytes):
            return batch
        batch.close()
        return None

    # ---- for the one who delivers batches

    def queue_sizes(self) -> dict[str, dict[int, int]]:
        """Return by topic how many batches wait for each partition that ever had one."""
        sizes: dict[str, dict[int, int]] = {}
        with self._lock:
            for (topic, partition), queue in self._queues.items():
                sizes.setdefault(topic, {})[partition] = len(queue)
        return sizes

    def ready(self) -> list[TopicPartition]:
        """Return the partitions whose first batch should be sent now, even if one is in flight."""
        now_ms = self._clock.now_ms()
        with self._lock:
            return [place for place, batch in self._first_batches() if self._due(batch) <= now_ms]

    def drain(self) -> Iterator[Batch]:
        """Yield the first batch of each partition that is ready and has none in flight.

        A batch is taken when the iteration reaches it, so effects of callbacks in between count.
        """
        for topic_partition in self.ready():
            with self._lock:
                batch = self._take(topic_partition)
            if batch:
                yield batch

    def _take(self, topic_partition: TopicPartition) -> Batch | None:
        queue = self._queues.get(topic_partition)
        if topic_partition in self._in_flight or not queue:
            return None
        batch = queue[0]
        if self._due(batch) > self._clock.now_ms():
            return None
        queue.popleft()
        self._in_flight[topic_partition] = batch
        batch.close()
        batch.is_in_flight = True
        return batch

    def put_back(self, batch: Batch, *, not_before_ms: int) -> None:
        """Put a failed batch at the front of its queue, to be sent again at that time or later."""
        with self._lock:
            batch.is_in_flight = False
            batch.not_before_ms = not_before_ms
            if self._in_flight.pop(batch.topic_partition, None):  # else `close` has failed it
                self._queues.setdefault(batch.topic_partition, deque()).appendleft(batch)

    def complete(self, batch: Batch) -> bool:
        """Give the memory of a batch back, and let the next batch of its partition be sent.

        Returns False if `close` was faster: then the batch has failed, and its records know.
        """
        with self._lock:
            is_first = self._in_flight.pop(batch.topic_partition, None) is not None
        batch.is_in_flight = False
        release(batch, self._pool)
        return is_first

    def next_due_ms(self) -> int | None:
        """Return when the next batch that is not in flight becomes ready; None if there is none."""
        with self._lock:
            due = [
                self._due(batch)
                for place, batch in self._first_batches()
                if place not in self._in_flight
            ]
        return min(due, default=None)

    @property
    def batches(self) -> list[Batch]:
        """All batches that are not done: in flight, then waiting."""
        with self._lock:
            queued = [batch for queue in self._queues.values() for batch in queue]
            return [*self._in_flight.values(), *queued]

    def set_flushing(self, is_flushing: bool) -> None:
        """Make all batches ready at once; each call with True needs one with False later."""
        with self._lock:
            self._flush_count += 1 if is_flushing else -1

    def close(self) -> list[Batch]:
        """Take no more records, and return all batches that were not done; they count as done now.

        The memory of waiting batches goes back to the pool. That of batches in flight does not.
        """
        with self._lock:
            self._is_closed = True
            in_flight = list(self._in_flight.values())
            queued = [batch for queue in self._queues.values() for batch in queue]
            self._in_flight.clear()
            self._queues.clear()
        for batch in in_flight + queued:
            release(batch, self._pool)
        self._pool.close()
        return in_flight + queued

    def _first_batches(self) -> Iterator[tuple[TopicPartition, Batch]]:
        return ((place, queue[0]) for place, queue in self._queues.items() if queue)

    def _due(self, batch: Batch) -> int:
        """Return the time at which the first batch of a queue becomes ready, in ms."""
        is_hurried = self._flush_count or self._is_closed or self._pool.waiter_count
        is_followed = len(self._queues[batch.topic_partition]) > 1
        if batch.attempts or batch.is_full or is_followed or is_hurried:
            return batch.not_before_ms
        return batch.created_ms + self._linger_ms
