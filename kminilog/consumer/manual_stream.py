"""A stream without a thread: `step` fetches ahead into a queue, `take` hands out the next record.

    step:  consumer.poll  -->  [ queue, queued.max.messages ]  -->  take

A record counts as read, and is committed, once the next one is asked for. If a partition is taken
away, its records in the queue are dropped. One caller may step while another one takes: both are
safe beside each other. Source: S3; Kafka 0.8: KafkaStream, ConsumerIterator,
ConsumerFetcherThread.
"""

import queue
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from threading import Lock
from typing import NamedTuple

from kminilog.clock import Clock
from kminilog.config import complete_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.errors import NoOffsetError, UnknownTopicIdError
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.interface import ConsumerRecord
from kminilog.consumer.membership import NO_MEMBER, LostShare
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition
from kminilog.storage.partition.notices import warn

_POLL_MS = 20


class _Queued(NamedTuple):
    record: ConsumerRecord
    share: int


class _Look(NamedTuple):
    """When `step` last looked for records, and since when it has found none."""

    at_ms: int = 0
    silent_since_ms: int = 0


class ManualStream:
    """A stream, driven by hand.

    `make_consumer` is called with the callbacks for partitions that come, go or are reset.
    """

    def __init__(
        self,
        name: str,
        make_consumer: Callable[..., Consumer],
        config: Mapping[str, object],
        clock: Clock,
        *,
        on_reset: Callable[[OffsetReset], object] = warn,
        on_lost: Callable[[LostShare], object] = warn,
    ) -> None:
        self.name = name
        self._tell_reset = on_reset
        self._tell_lost = on_lost
        self.config = complete_config(config, CONSUMER_SETTINGS)
        self._make_consumer = make_consumer
        self._clock = clock
        self._queue: queue.Queue[_Queued] = queue.Queue(self.config["queued.max.messages"])
        self._lock = Lock()
        self._share: dict[TopicPartition, int] = {}
        self._read: dict[TopicPartition, int] = {}
        self._current: _Queued | None = None
        self._is_stopping = False
        self._look = _Look()
        self._begin()

    def _begin(self) -> None:
        self._open()

    @property
    def queued_count(self) -> int:
        """How many records are fetched and not returned yet."""
        return self._queue.qsize()

    @property
    def queued(self) -> list[ConsumerRecord]:
        """The records that are fetched and not returned yet, without those that are dropped."""
        return [queued.record for queued in [*self._queue.queue] if self._is_ours(queued)]

    @property
    def assignment(self) -> tuple[TopicPartition, ...]:
        """The partitions of which it reads now, ascending."""
        return self._consumer.assignment

    @property
    def is_settled(self) -> bool:
        """Whether it knows its share."""
        return self._consumer.is_settled

    def step(self) -> None:
        """Do what is due for the group, fetch what the queue has room for, and commit if due."""
        began_ms = self._clock.now_ms()
        room = 0 if self._is_stopping else self._queue.maxsize - self._queue.qsize()
        records = self._consumer.poll(_POLL_MS, min(room, self.config["max.poll.records"]))
        for record in records:
            with self._lock:
                share = self._share.setdefault(record.topic_partition, 0)
            self._queue.put(_Queued(record, share))
        now_ms = self._clock.now_ms()
        is_silent = room and not records and self._consumer.is_settled
        # A look that finds nothing counts from its beginning: it misses what comes later.
        since_ms = self._look.silent_since_ms
        self._look = _Look(began_ms, since_ms) if is_silent else _Look(now_ms, now_ms)
        if now_ms >= self._commit_due_ms:
            self._commit()
            self._make_commit_due_later()

    def take(self) -> ConsumerRecord | None:
        """Return the next record of the queue, or None; the one before it counts as read."""
        self._note_read()
        while not self._queue.empty():
            if record := self._next_queued():
                return record
        return None

    def stop(self) -> None:
        """Fetch no more. Records in the queue are still returned."""
        self._is_stopping = True

    def close(self, *, is_done: bool = True) -> None:
        """Fetch no more, drop what is in the queue, commit what was read, and leave the group.

        The current record counts as read if `is_done`.
        """
        if is_done:
            self._note_read()
        self.stop()
        self._drop_all()
        self._leave()

    # ---- the queue

    def _next_queued(self, seconds: float = 0) -> ConsumerRecord | None:
        try:
            queued = self._queue.get(timeout=seconds)
        except queue.Empty:
            return None
        with self._lock:
            self._current = queued if self._is_ours(queued) else None
            self._queue.task_done()  # from here on it is the current record, or dropped
            return self._current.record if self._current else None

    def _note_read(self) -> None:
        """Count the current record as read: the caller asks for the next one."""
        with self._lock:
            queued, self._current = self._current, None
            if queued and self._is_ours(queued):
                self._read[queued.record.topic_partition] = queued.record.offset + 1

    def _is_ours(self, queued: _Queued) -> bool:
        """Whether the partition has not been taken away since the record was fetched."""
        return self._share.get(queued.record.topic_partition) == queued.share

    def _drop_all(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()

    # ---- the consumer

    def _open(self) -> None:
        self._consumer = self._make_consumer(
            on_assigned=self._on_assigned,
            on_revoked=self._on_revoked,
            on_lost=self._on_lost,
            on_reset=self._on_reset,
        )
        self._make_commit_due_later()

    def _leave(self) -> None:
        with ExitStack() as last_steps:
            last_steps.callback(self._consumer.close)
            last_steps.callback(self._commit)

    def _make_commit_due_later(self) -> None:
        self._commit_due_ms = self._clock.now_ms() + self.config["auto.commit.interval.ms"]

    def _on_assigned(self, partitions: list[TopicPartition]) -> None:
        """Commit the start of a partition too, so that the next owner does not reset to the end."""
        now_ms = self._clock.now_ms()
        self._look = _Look(now_ms, now_ms)  # the rebalance does not count as silence
        with self._lock:
            for partition in partitions:
                with suppress(NoOffsetError):
                    self._read[partition] = self._consumer.position(partition)

    def _on_reset(self, reset: OffsetReset) -> None:
        """Forget what was read above the end of a log that was cut, or in an earlier topic."""
        if reset.is_replaced:
            self._forget([reset.topic_partition])
        with self._lock:
            if self._read.get(reset.topic_partition, 0) > reset.log_end_offset:
                self._read[reset.topic_partition] = reset.next_offset
        self._tell_reset(reset)

    def _on_revoked(self, partitions: list[TopicPartition]) -> None:
        self._drop_queued(partitions)  # first: what is handed out now is not in the commit
        try:
            self._commit()
        finally:
            self._forget(partitions)

    def _on_lost(self, partitions: list[TopicPartition]) -> None:
        self._forget(partitions)
        self._tell_lost(LostShare(self.config["group.id"], partitions))

    def _drop_queued(self, partitions: list[TopicPartition]) -> None:
        with self._lock:
            for partition in partitions:
                self._share[partition] = self._share.get(partition, 0) + 1

    def _forget(self, partitions: list[TopicPartition]) -> None:
        self._drop_queued(partitions)
        with self._lock:
            for partition in partitions:
                self._read.pop(partition, None)

    def _commit(self) -> None:
        with self._lock:
            read = dict(self._read)
        if read and self.config["enable.auto.commit"] and self._consumer.has_group:
            with suppress(*NO_MEMBER, UnknownTopicIdError):  # the next poll hears of it
                self._consumer.commit(read)
