"""Sending batches to the leaders and taking their answers, one round at a time.

    ready batch --produce--> leader --(acks -1: replicated?)--> done: futures, callbacks
                                |
                                +-- failed: after retry.backoff.ms again, at most `retries` times

A batch is tried up to 1 + `retries` times, with back-off. Then its records are lost, and their
futures say so. The caller decides whether to stop or to go on (S4). If a leader fails before all
in-sync replicas have a batch, the batch is sent again although it may have been kept. Its records
are *in doubt*: they may be there twice, as in Kafka before the idempotent producer. A write that
failed and could not be undone leaves doubt too. So does one that goes on when the producer gives
up.

Source: S1 3, S4; Kafka: Sender, and DefaultEventHandler for the retries. Differs: each batch is a
request of its own; Kafka's Sender puts the batches for one broker into one request.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

from kminilog.clock import Clock
from kminilog.cluster.requests import Cluster, Produced
from kminilog.errors import (
    LeaderNotAvailableError,
    RequestTimedOutError,
    RetriableError,
    WriteFailedError,
)
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import Batch
from kminilog.producer.record import NO_OFFSET

Done = Callable[[Batch, int, Exception | None], object]


class DeliverySettings(NamedTuple):
    """The settings of a producer that concern delivery."""

    acks: int
    retries: int
    retry_backoff_ms: int
    request_timeout_ms: int

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "DeliverySettings":
        """Return them from a producer's complete config.

        >>> from kminilog.producer_settings import PRODUCER_SETTINGS
        >>> from kminilog.config import complete_config
        >>> DeliverySettings.from_config(complete_config({}, PRODUCER_SETTINGS))
        DeliverySettings(acks=1, retries=3, retry_backoff_ms=100, request_timeout_ms=30000)
        """
        return cls(*(config[field.replace("_", ".")] for field in cls._fields))


def may_retry(attempts: int, retries: int, error: Exception) -> bool:
    """Tell if a batch that has failed `attempts` times is sent again.

    It is, `retries` times at most, if its last error is one that may go away by itself.

    >>> may_retry(1, 3, RequestTimedOutError("orders", partition=0, waited_ms=5))
    True
    >>> may_retry(1, 3, ValueError("broken"))
    False
    """
    return attempts <= retries and isinstance(error, RetriableError)


class DeliveryReport(NamedTuple):
    """How many records were acknowledged, lost, and left in doubt, as far as the producer knows.

    `retries` counts batches that were sent again. `in_doubt` counts, for each failed attempt, the
    records that it may have left in the log. If these were sent again, they may be there twice; if
    they count as lost, they may be there once.
    """

    acknowledged: int = 0
    lost: int = 0
    retries: int = 0
    in_doubt: int = 0


class DeliveryStep(NamedTuple):
    """What one step did: the batches that it sent, and the batches with an answer."""

    sent: list[Batch]
    heard: list[Batch]


class _Sent(NamedTuple):
    """A batch that waits until the in-sync replicas have it."""

    batch: Batch
    produced: Produced
    sent_ms: int


class Delivery:
    """The work of the sender without its thread; one caller at a time.

    `on_done` is called once for each batch, with its first offset or its error. `on_failure` is
    called after each failed attempt.
    """

    def __init__(
        self,
        cluster: Cluster,
        accumulator: Accumulator,
        settings: DeliverySettings,
        clock: Clock,
        *,
        on_done: Done,
        on_failure: Callable[[], object],
    ) -> None:
        self._cluster = cluster
        self._accumulator = accumulator
        self._settings = settings
        self._clock = clock
        self._on_done = on_done
        self._on_failure = on_failure
        self._sent: dict[TopicPartition, _Sent] = {}
        self.report = DeliveryReport()

    @property
    def is_waiting(self) -> bool:
        """Whether a batch waits for the in-sync replicas."""
        return bool(self._sent)

    def step(self) -> DeliveryStep:
        """Take the answers for earlier batches, send the ready ones, and return both.

        A callback may call this again: the inner call then does what is left.
        """
        heard = self._collect_replicated()
        sent = []
        for batch in self._accumulator.drain():
            self._send(batch)
            sent.append(batch)
        return DeliveryStep(sent, heard)

    def abort(self, error: Exception) -> None:
        """Fail the records of all batches. The memory of batches in flight is not reused."""
        sent, self._sent = self._sent, {}
        with ExitStack() as in_order:  # all of them, whatever any raises; the last one first
            for batch in reversed(self._accumulator.close()):
                if batch.topic_partition in sent and batch.is_in_flight:
                    self._doubt(batch, sent[batch.topic_partition].produced.offsets)
                elif batch.is_in_flight:  # the thread that steps is writing it
                    self._doubt_all(batch)
                self._count(lost=len(batch.records))
                in_order.callback(self._on_done, batch, NO_OFFSET, error)

    # ---- one batch

    def _send(self, batch: Batch) -> None:
        topic, partition = batch.topic_partition
        batch.attempts += 1
        try:
            if self._cluster.metadata().leader_for(topic, partition) is None:
                raise LeaderNotAvailableError(topic, partition=partition)
            produced = self._cluster.produce(
                batch.topic_partition, batch.data(), acks=self._settings.acks
            )
        except Exception as error:  # noqa: BLE001 - told to those who sent the records
            self._doubt(batch, _offsets_in_doubt(error))
            self._try_again(batch, error)
        except BaseException as stop:  # Ctrl-C: nobody knows what the leader has of the batch
            self._doubt_all(batch)
            self._fail(batch, InterruptedError(f"{type(stop).__name__} stopped the request"))
            raise
        else:
            if self._settings.acks == -1:
                sent = _Sent(batch, produced, self._clock.now_ms())
                self._sent[batch.topic_partition] = sent
            else:
                is_told = self._settings.acks != 0
                self._succeed(batch, produced.first_offset if is_told else NO_OFFSET)

    def _collect_replicated(self) -> list[Batch]:
        heard = []
        for place, sent in list(self._sent.items()):
            if self._sent.get(place) is not sent:
                continue  # a callback has stepped, and heard of it
            try:
                if not self._is_replicated(sent):
                    continue
            except Exception as error:  # noqa: BLE001 - told to those who sent the records
                self._sent.pop(place, None)  # `abort` may have emptied it
                self._doubt(sent.batch, sent.produced.offsets)
                self._try_again(sent.batch, error)
            else:
                self._sent.pop(place, None)
                self._succeed(sent.batch, sent.produced.first_offset)
            heard.append(sent.batch)
        return heard

    def _is_replicated(self, sent: _Sent) -> bool:
        if self._cluster.is_replicated(sent.batch.topic_partition, sent.produced):
            return True
        waited_ms = self._clock.now_ms() - sent.sent_ms
        if waited_ms > self._settings.request_timeout_ms:
            topic, partition = sent.batch.topic_partition
            raise RequestTimedOutError(topic, partition=partition, waited_ms=waited_ms)
        return False

    def _doubt(self, batch: Batch, offsets: Sequence[int]) -> None:
        if offsets:
            self._count(in_doubt=len(offsets))
            batch.in_doubt = offsets

    def _doubt_all(self, batch: Batch) -> None:
        self._doubt(batch, [NO_OFFSET] * len(batch.records))

    def _try_again(self, batch: Batch, error: Exception) -> None:
        if not may_retry(batch.attempts, self._settings.retries, error):
            self._fail(batch, error)
            return
        self._count(retries=1)
        not_before_ms = self._clock.now_ms() + self._settings.retry_backoff_ms
        self._accumulator.put_back(batch, not_before_ms=not_before_ms)
        self._on_failure()

    def _succeed(self, batch: Batch, first_offset: int) -> None:
        if self._accumulator.complete(batch):
            self._count(acknowledged=len(batch.records))
            self._on_done(batch, first_offset, None)

    def _fail(self, batch: Batch, error: Exception) -> None:
        if self._accumulator.complete(batch):
            self._count(lost=len(batch.records))
            try:
                self._on_failure()
            finally:
                self._on_done(batch, NO_OFFSET, error)

    def _count(
        self, *, acknowledged: int = 0, lost: int = 0, retries: int = 0, in_doubt: int = 0
    ) -> None:
        had = self.report
        self.report = DeliveryReport(
            had.acknowledged + acknowledged,
            had.lost + lost,
            had.retries + retries,
            had.in_doubt + in_doubt,
        )


def _offsets_in_doubt(error: BaseException | None) -> Sequence[int]:
    """Return where the first records of a batch may be although its append has failed.

    The cluster may have raised another error because of that one: so look at causes, too.
    """
    if isinstance(error, WriteFailedError):
        return error.in_doubt
    return _offsets_in_doubt(error.__cause__) if error else ()
