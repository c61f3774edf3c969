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

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from threading import Thread
from typing import Any, Self

from kminilog.clock import Clock
from kminilog.config import complete_config
from kminilog.consumer.consumer import Consumer
from kminilog.consumer.coordinator import Coordinator
from kminilog.consumer.errors import ConsumerTimeoutError
from kminilog.consumer.fetching import OffsetReset
from kminilog.consumer.interface import ConsumerRecord, MessageSource
from kminilog.consumer.manual_stream import ManualStream
from kminilog.consumer.membership import LostShare
from kminilog.consumer.settings import CONSUMER_SETTINGS
from kminilog.storage.partition.notices import warn

_LOOK_SECONDS = 0.05


class KafkaStream(ManualStream, Iterator[ConsumerRecord]):
    """One stream. Iterate in one thread; call `stop` and `close` in any thread.

    As a context manager it closes itself. Its own thread calls `make_consumer`, steps, and leaves
    the group at the end; so the consumer belongs to that thread.
    """

    def _begin(self) -> None:
        self._is_dropping = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name=f"kminilog-{self.name}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.close(is_done=error is None)

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
            queued = self._next_queued(_LOOK_SECONDS)
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

    def close(self, *, is_done: bool = True) -> None:
        """Close as ManualStream does. Raises the error that has ended the fetcher, if any."""
        if is_done:
            self._note_read()
        self._is_dropping = True
        self.stop()
        self._thread.join()
        self._drop_all()
        if self._error:
            raise self._error

    # ---- the fetcher's thread

    def _run(self) -> None:
        try:
            self._open()
            try:
                while not self._is_over():
                    self.step()
            finally:
                self._leave()
        except BaseException as error:  # noqa: BLE001 - raised again where somebody can see it
            self._error = error

    def _is_over(self) -> bool:
        if not self._is_stopping:
            return False
        with self._lock:
            is_at_end = not self._queue.unfinished_tasks and self._current is None
        return self._is_dropping or is_at_end


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
