"""A stream of messages to iterate over: a thread fetches ahead into a queue of limited length.

    fetcher thread:  consumer.poll  -->  [ queue, queued.max.messages ]  -->  for record in stream

If the queue is empty, the iteration waits: for ever, or until the thread has found nothing for
consumer.timeout.ms. The time of a rebalance does not count. The thread sends the heartbeats, so the
work on one message may take any time. A record counts as read, and is committed, once the iteration
asks for the next one. If a partition is taken away, its records in the queue are dropped.

`open_streams` makes several streams, each a member of the group, named `<consumer>-<n>`. Without a
group nothing is committed.
Source: S3; Kafka 0.8: KafkaStream, ConsumerIterator, ConsumerFetcherThread.
"""

import queue
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from threading import Event, Lock, Thread
from typing import Any, NamedTuple, Self

from kminilog.clock import Clock
from kminilog.config import complete_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import ConsumerTimeoutError, NoOffsetError, UnknownTopicIdError
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.interface import ConsumerRecord, MessageSource
from kminilog.consumer.membership import NO_MEMBER, LostShare
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.format.names import TopicPartition
from kminilog.storage.partition.notices import warn

_POLL_MS = 20
_LOOK_SECONDS = 0.05


class _Queued(NamedTuple):
    record: ConsumerRecord
    share: int


class _Look(NamedTuple):
    """When the thread last looked for records, and since when it has found none."""

    at_ms: int = 0
    silent_since_ms: int = 0


class KafkaStream(Iterator[ConsumerRecord]):
    """One stream. Iterate in one thread; call `stop` and `close` in any thread.

    As a context manager it closes itself. The fetcher's thread calls `make_consumer`, with the
    callbacks for partitions that come, go or are reset; so the consumer belongs to that thread.
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
        self._is_stopping = Event()
        self._is_dropping = False
        self._look = _Look()
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name=f"kminilog-{name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close(is_done=error is None)

    @property
    def queued_count(self) -> int:
        """How many records are fetched and not returned yet."""
        return self._queue.qsize()

    @property
    def silent_ms(self) -> int:
        """How long it has found no record, in ms; -1 while it has some, or has no share yet."""
        with self._lock:
            if self._queue.unfinished_tasks or self._current is not None:
                return -1
        at_ms, since_ms = self._look
        return at_ms - since_ms if at_ms > since_ms else -1

    # ---- for the thread that iterates

    def __next__(self) -> ConsumerRecord:
        """Return the next record; wait for it if the queue is empty.

        Raises ConsumerTimeoutError if the thread has found nothing for consumer.timeout.ms; the
        iteration may continue after that. Raises the error that has ended the fetcher, if any. Ends
        after `stop`, once the queue is empty.
        """
        self._note_read()
        timeout_ms = self.config["consumer.timeout.ms"]
        began_ms = self._clock.now_ms()
        while True:
            queued = self._next_queued()
            if queued:
                return queued
            if not self._thread.is_alive() and self._queue.empty():
                if self._error:
                    raise self._error
                raise StopIteration
            look = self._look
            silent_ms = look.at_ms - max(look.silent_since_ms, began_ms)
            if 0 <= timeout_ms <= silent_ms and self._queue.empty():
                raise ConsumerTimeoutError(timeout_ms)

    def stop(self) -> None:
        """Fetch no more. Records in the queue are still returned, and then the iteration ends."""
        self._is_stopping.set()

    def close(self, *, is_done: bool = True) -> None:
        """Fetch no more, drop what is in the queue, commit what was read, and leave the group.

        The current record counts as read if `is_done`. Raises the error that has ended the fetcher,
        if any.
        """
        if is_done:
            self._note_read()
        self._is_dropping = True
        self.stop()
        self._thread.join()
        with suppress(queue.Empty):
            while True:
                self._queue.get_nowait()
        if self._error:
            raise self._error

    def _next_queued(self) -> ConsumerRecord | None:
        try:
            queued = self._queue.get(timeout=_LOOK_SECONDS)
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

    # ---- the fetcher's thread

    def _run(self) -> None:
        try:
            consumer = self._make_consumer(
                on_assigned=self._on_assigned,
                on_revoked=self._on_revoked,
                on_lost=self._on_lost,
                on_reset=self._on_reset,
            )
            self._consumer = consumer
            with ExitStack() as last_steps:
                last_steps.callback(consumer.close)
                last_steps.callback(self._commit)
                self._fetch_until_stopped(consumer)
        except BaseException as error:  # noqa: BLE001 - raised again where somebody can see it
            self._error = error

    def _fetch_until_stopped(self, consumer: Consumer) -> None:
        interval_ms = self.config["auto.commit.interval.ms"]
        due_ms = self._clock.now_ms() + interval_ms
        while not self._is_over():
            began_ms = self._clock.now_ms()
            room = 0 if self._is_stopping.is_set() else self._queue.maxsize - self._queue.qsize()
            records = consumer.poll(_POLL_MS, min(room, self.config["max.poll.records"]))
            for record in records:
                with self._lock:
                    share = self._share.setdefault(record.topic_partition, 0)
                self._queue.put(_Queued(record, share))
            now_ms = self._clock.now_ms()
            is_silent = room and not records and consumer.is_settled
            # A look that finds nothing counts from its beginning: it misses what comes later.
            since_ms = self._look.silent_since_ms
            self._look = _Look(began_ms, since_ms) if is_silent else _Look(now_ms, now_ms)
            if now_ms >= due_ms:
                self._commit()
                due_ms = self._clock.now_ms() + interval_ms

    def _is_over(self) -> bool:
        if not self._is_stopping.is_set():
            return False
        with self._lock:
            is_at_end = not self._queue.unfinished_tasks and self._current is None
        return self._is_dropping or is_at_end

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


def open_streams(
    count: int,
    subscribe: Callable[[Consumer], object],
    make_source: Callable[[], MessageSource],
    make_coordinator: Callable[[MessageSource], Coordinator] | None,
    config: Mapping[str, object],
    clock: Clock,
    *,
    on_reset: Callable[[OffsetReset], object] = warn,
    on_lost: Callable[[LostShare], object] = warn,
) -> list[KafkaStream]:
    """Return `count` streams, each a member of the group: `<client.id>-0`, `<client.id>-1` ...

    `subscribe` is called with each consumer. Each stream gets a source and a coordinator of its
    own, because these belong to one thread. Without coordinators there is no group: then
    `subscribe` has to call `assign`. The streams call `on_reset` and `on_lost` in their threads.
    """
    config = complete_config(config, CONSUMER_SETTINGS)

    def make(name: str, **on_change: Callable[[Any], object]) -> Consumer:
        source = make_source()
        # What counts as read is known to the stream, so it commits.
        own = {**config, "client.id": name, "enable.auto.commit": False}
        coordinator = make_coordinator(source) if make_coordinator else None
        consumer = Consumer(source, own, clock=clock, coordinator=coordinator, **on_change)
        subscribe(consumer)
        return consumer

    names = [f"{config['client.id']}-{number}" for number in range(count)]
    return [
        KafkaStream(name, partial(make, name), config, clock, on_reset=on_reset, on_lost=on_lost)
        for name in names
    ]
