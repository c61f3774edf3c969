"""The producer's thread, and the one in which the followers of a cluster pull.

Each record has a line in Python's logging: the partition that was chosen for it.

    Assigning message of topic orders and key alice to a selected partition 1

The logger is `kminilog.producer`, the level DEBUG. A program that wants the lines sets it up:

    logging.basicConfig()
    logging.getLogger("kminilog.producer").setLevel(logging.DEBUG)

Source: S4, whose line this is; Kafka: Sender, KafkaProducer; 0.8: DefaultEventHandler.getPartition.
Differs: the line comes after the switch to another partition, and for records that name their
partition, too.
"""

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Lock

from kminilog.clock import Chance, Clock
from kminilog.cluster.requests import Cluster
from kminilog.errors import ClientClosedError
from kminilog.partitioners.interface import Partitioner
from kminilog.producer.interceptors import ProducerInterceptor
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.record import ProducerRecord
from kminilog.system import POLL_SECONDS, Repeating, SystemClock

LOGGER = logging.getLogger("kminilog.producer")
_LINE = "Assigning message of topic %s and key %s to a selected partition %d"


def log_choice(record: ProducerRecord, partition: int) -> None:
    """Log the partition of a record; bytes of a key that are not UTF-8 are escaped."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        key = "[none]" if record.key is None else record.key
        text = key.decode(errors="backslashreplace") if isinstance(key, bytes) else str(key)
        LOGGER.debug(_LINE, record.topic, text, partition)


def replicating(replicate: Callable[[], object]) -> Repeating:
    """Return a thread in which the followers of a cluster pull: give it `cluster.replicate`."""
    return Repeating(replicate, name="kminilog-followers")


_PATIENCE_SECONDS = 1.0
_LONGEST_PAUSE_MS = 10  # a call that waits for memory makes batches ready, and wakes nobody


class Producer(ManualProducer):
    """A producer with a thread that sends; see ManualProducer for all else.

    Each choice of a partition goes to Python's logging, at the level DEBUG (`log_choice`).

    `close` ends the thread. It is a daemon thread: a process that ends without closing its producer
    loses the records that were not sent yet. An exception that stops a program (SystemExit) ends
    the thread if a callback raises it: the futures of what was not sent fail, and `flush` and
    `close` raise it.
    """

    def __init__(
        self,
        cluster: Cluster,
        config: Mapping[str, object] | None = None,
        *,
        clock: Clock | None = None,
        chance: Chance | None = None,
        partitioner: Partitioner | None = None,
        interceptors: Sequence[ProducerInterceptor] = (),
        on_error: Callable[[str], object] = lambda text: None,
        on_choice: Callable[[ProducerRecord, int], object] = log_choice,
    ) -> None:
        super().__init__(
            cluster,
            config,
            clock=clock or SystemClock(),
            chance=chance or random.Random(),
            partitioner=partitioner,
            interceptors=interceptors,
            on_error=on_error,
            on_choice=on_choice,
        )
        self._begun = self._ended = 0  # steps of the thread
        self._sender = Repeating(
            self._work,
            name="kminilog-sender",
            pause=self._pause_seconds,
            on_error=lambda: self._delivery.abort(ClientClosedError("producer")),
        )

    def flush(self, timeout_ms: int | None = None) -> bool:
        """Wait as ManualProducer does, and until callbacks have run and futures are done."""
        deadline_ms = None if timeout_ms is None else self._clock.now_ms() + timeout_ms
        is_flushed = super().flush(timeout_ms)
        begun = self._begun  # a batch counts as done before the thread has told its futures
        while is_flushed and self._ended < begun:
            is_flushed = deadline_ms is None or self._clock.now_ms() < deadline_ms
            self._drive(deadline_ms)
        return is_flushed

    def _work(self) -> bool:
        self._begun += 1
        is_busy = any(self.step())
        self._ended += 1
        return is_busy

    def _pause_seconds(self) -> float:
        """Return how long there is nothing to do, unless a batch begins or gets full."""
        if self._delivery.is_waiting:
            return POLL_SECONDS
        due_ms = self._accumulator.next_due_ms()
        wait_ms = _LONGEST_PAUSE_MS if due_ms is None else due_ms - self._clock.now_ms()
        return max(POLL_SECONDS, min(wait_ms, _LONGEST_PAUSE_MS) / 1000)

    def _new_condition(self, lock: Lock) -> Condition:
        return Condition(lock)

    def _on_batch(self) -> None:
        self._sender.wake()

    def _drive(self, until_ms: int | None) -> None:
        if self._sender.is_current:
            raise ValueError(
                "a callback cannot wait for the sender: it runs in the sender's thread"
            )
        self._sender.raise_error()
        self._sender.wake()
        self._clock.sleep_ms(1)

    def _stop_stepping(self) -> None:
        # The time-out of `close` covers the flush; a slow callback must not make it much longer.
        self._sender.stop(timeout_seconds=_PATIENCE_SECONDS)
