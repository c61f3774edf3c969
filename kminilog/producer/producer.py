"""The client that sends records: from a record to a place in a batch, and back to a future.

    send   interceptors -> serialisers -> partitioner -> memory of the pool -> batch
    step   ready batches -> leaders -> futures, callbacks, interceptors

There is no thread here: records wait until `step`, `flush` or `close` is called, or until memory
runs out. Then the producer sends something itself, because nothing else brings memory back: its
pool gets a `SteppingCondition` instead of `threading.Condition`. So a debugger can step through a
producer, and with a manual clock every run is the same. `producer.manual_producer` makes a producer
from its settings; `producer.sender` adds a thread.

Source: S0 7, S1 3, S2; Kafka: KafkaProducer.
"""

from collections.abc import Callable
from contextlib import ExitStack
from threading import Lock
from typing import Any, NamedTuple, Self

from kminilog.clock import Clock
from kminilog.cluster.metadata import PartitionInfo
from kminilog.cluster.requests import Cluster
from kminilog.errors import ClientClosedError
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encoded_bytes
from kminilog.format.names import TopicPartition
from kminilog.partitioners.interface import Partitioner
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import Batch, Callback, SendFuture, Waiting
from kminilog.producer.buffer_pool import BufferPool, PoolMetrics, WaitCondition
from kminilog.producer.delivery import Delivery, DeliveryReport, DeliverySettings, DeliveryStep
from kminilog.producer.interceptors import ProducerInterceptors
from kminilog.producer.record import ProducerRecord, RecordMetadata
from kminilog.producer.routing import Routing
from kminilog.producer.serializers import Serializer

# ---- waiting without a second thread


class SteppingCondition:
    """A condition for one thread; `step` gets the time at which the wait ends, in ms."""

    def __init__(self, lock: Lock, step: Callable[[int], object], clock: Clock) -> None:
        self._lock = lock
        self._step = step
        self._clock = clock
        self._is_notified = False

    def wait(self, timeout: float) -> bool:
        """Take steps until notified; return False if `timeout` seconds pass before that."""
        until_ms = self._clock.now_ms() + round(timeout * 1000)
        self._is_notified = False
        self._lock.release()
        try:
            while not self._is_notified and self._clock.now_ms() < until_ms:
                self._step(until_ms)
        finally:
            self._lock.acquire()
        return self._is_notified

    def notify(self) -> None:
        """End the wait after the current step."""
        self._is_notified = True


# ---- the producer


_POLL_MS = 1  # how soon to ask again whether the in-sync replicas have a batch
METRIC_GROUP = "producer-metrics"


class Parts(NamedTuple):
    """The parts of a producer that come from outside: perhaps a user's classes, and metrics."""

    partitioner: Partitioner
    interceptors: ProducerInterceptors
    serialize_key: Serializer
    serialize_value: Serializer
    metrics: PoolMetrics


class ProducerCore:
    """A producer without a thread; as a context manager it closes itself.

    `config` is complete (`producer_settings`). While the producer waits it calls `alongside`, which
    lets others work and returns whether they did, as `cluster.replicate` does. `on_error` gets a
    line if a callback or a hook of a partitioner raises; no record is affected. `on_choice` gets
    each record and its partition.
    """

    def __init__(
        self,
        cluster: Cluster,
        config: dict[str, Any],
        parts: Parts,
        *,
        clock: Clock,
        alongside: Callable[[], object],
        on_error: Callable[[str], object],
        on_choice: Callable[[ProducerRecord, int], object] | None = None,
    ) -> None:
        self.config = config
        self._cluster = cluster
        self._clock = clock
        self._alongside = alongside
        self._is_closed = False
        self.is_ready = False
        """Whether a batch has begun, or got full, since the last step: then a step may send it."""
        self._on_error = on_error
        self._on_choice = on_choice
        self._interceptors = parts.interceptors
        self._serialize_key, self._serialize_value = parts.serialize_key, parts.serialize_value
        self.pool = BufferPool(
            self.config["buffer.memory"],
            max(1, self.config["batch.size"]),
            parts.metrics,
            self._clock,
            METRIC_GROUP,
            new_condition=self._new_condition,
        )
        self._accumulator = Accumulator(config, self.pool, clock)
        self._routing = Routing(
            parts.partitioner, self._accumulator.close_unless_room, on_error=on_error
        )
        self._delivery = Delivery(
            cluster,
            self._accumulator,
            DeliverySettings.from_config(config),
            clock,
            on_done=self._finish,
            on_failure=self._routing.on_failure,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        # An exception is on its way: do not keep it waiting for what may never be acknowledged.
        self.close(timeout_ms=None if error is None else 0)

    # ---- sending

    def send(self, record: ProducerRecord, callback: Callback | None = None) -> SendFuture:
        """Put a record into a batch, and return a future of its place.

        Before the future is done, the callback gets the place and None, or a place without offset
        and the error. It runs in the thread that steps, so it must not wait; an exception of it
        goes to `on_error`. Once `send` returns, the record is in memory only: a crash loses it. May
        wait up to max.block.ms for memory.

        Raises at once, without a callback: UnknownTopicOrPartitionError, PluginError of a
        partitioner, SerializationError, BufferExhaustedError, ValueError for a record above
        buffer.memory, ClientClosedError. Then nothing was written.
        """
        if self._is_closed:
            raise ClientClosedError("producer")
        record = self._interceptors.on_send(record)
        try:
            return self._append(record, callback)
        except BaseException as error:  # Ctrl-C too
            self._interceptors.on_send_error(record, error)
            raise

    def refuse(self, record: ProducerRecord, error: Exception) -> None:
        """Tell interceptors of a record that the caller does not send, and why.

        They hear what they would hear if `send` had raised the error. Nothing is raised or written.
        """
        self._interceptors.on_send_error(self._interceptors.on_send(record), error)

    def partitions_for(self, topic: str) -> tuple[PartitionInfo, ...]:
        """Return the partitions of a topic in metadata order; none for an unknown topic."""
        return self._cluster.metadata().partitions_for_topic(topic)

    def _append(self, record: ProducerRecord, callback: Callback | None) -> SendFuture:
        key_bytes = self._serialize_key(record.topic, record.key)
        value_bytes = self._serialize_value(record.topic, record.value)
        size_bytes = encoded_bytes(KAFKA, key_bytes, value_bytes)
        cluster = self._cluster.metadata()
        at_ms = self._clock.now_ms() if record.timestamp_ms is None else record.timestamp_ms
        partition = self._routing.choose(record, at_ms, key_bytes, value_bytes, cluster, size_bytes)
        if self._on_choice:
            self._on_choice(record, partition)
        waiting = Waiting(SendFuture(), callback)
        place = TopicPartition(record.topic, partition)
        is_full, is_new = self._accumulator.append(
            place, key_bytes, value_bytes, size_bytes, waiting
        )
        self._routing.on_appended(
            record, partition, size_bytes, is_batch_full=is_full, cluster=cluster
        )
        if is_full or is_new:
            self.is_ready = True
            self._on_batch()
        return waiting.future

    # ---- delivery

    @property
    def report(self) -> DeliveryReport:
        """How many records were acknowledged, lost and left in doubt so far."""
        return self._delivery.report

    def step(self) -> DeliveryStep:
        """Do one round of the sender's work: take answers for earlier batches, send ready ones."""
        self.is_ready = False
        return self._delivery.step()

    def flush(self, timeout_ms: int | None = None) -> bool:
        """Wait until all records sent before are acknowledged or lost; return False on a time-out.

        What an acknowledged record survives depends on `acks`. Raises ValueError in a callback of a
        producer with a thread, because the thread would wait for itself.
        """
        deadline_ms = None if timeout_ms is None else self._clock.now_ms() + timeout_ms
        pending = self._accumulator.batches
        self._accumulator.set_flushing(True)
        try:
            while pending := [batch for batch in pending if not batch.is_done]:
                if deadline_ms is not None and self._clock.now_ms() >= deadline_ms:
                    return False
                self._drive(deadline_ms)
            return True
        finally:
            self._accumulator.set_flushing(False)

    def close(self, timeout_ms: int | None = None) -> None:
        """Take no more records, and flush. Records that are not done in time fail.

        Their futures have ClientClosedError. A second call does nothing.
        """
        if self._is_closed:
            return
        self._is_closed = True
        with ExitStack() as last_steps:  # all of them, whatever any raises; from bottom to top
            last_steps.callback(self._routing.close)
            last_steps.callback(self._serialize_value.close)
            last_steps.callback(self._serialize_key.close)
            last_steps.callback(self._interceptors.close)
            last_steps.callback(self._delivery.abort, ClientClosedError("producer"))
            last_steps.callback(self._stop_stepping)
            self.flush(timeout_ms)

    # ---- what is different with a thread

    def _new_condition(self, lock: Lock) -> WaitCondition:
        return SteppingCondition(lock, self._drive, self._clock)

    def _on_batch(self) -> None:
        """Called when a batch has begun or is full; a producer with a thread wakes it."""

    def _stop_stepping(self) -> None:
        """Called by `close`; a producer with a thread stops it."""

    # ---- steps

    def _finish(self, batch: Batch, first_offset: int, error: Exception | None) -> None:
        """Give interceptors, callbacks and futures the result of each record of a batch.

        What stops a program (SystemExit, Ctrl-C) is raised again, but only after the last record:
        the batch counts as done, so nobody else would tell its futures.
        """
        places = batch.metadata(first_offset)
        in_doubt = (RecordMetadata(*batch.topic_partition, offset) for offset in batch.in_doubt)
        has_interceptors = bool(self._interceptors)
        stop: BaseException | None = None
        for (future, callback), place in zip(batch.records, places, strict=True):
            try:
                try:
                    if callback or has_interceptors:
                        self._tell(callback, place, error)
                finally:
                    if error:
                        future.in_doubt = next(in_doubt, None)
                        future.set_exception(error)
                    else:
                        future.set_result(place)
            except BaseException as raised:  # noqa: BLE001 - raised again below
                stop = stop or raised
        if stop:
            raise stop

    def _tell(
        self, callback: Callback | None, place: RecordMetadata, error: Exception | None
    ) -> None:
        try:
            self._interceptors.on_acknowledgement(place, error)
        finally:
            if callback:
                try:
                    callback(place, error)
                except Exception as raised:  # noqa: BLE001 - the caller's; must not stop the others
                    self._on_error(f"callback: {type(raised).__name__}: {raised}")

    def _drive(self, until_ms: int | None) -> None:
        """Take a step; if neither it nor `alongside` did anything, sleep until a batch is due."""
        sent, heard = self.step()
        has_worked = self._alongside()
        if sent or heard or has_worked:
            return
        due_ms = self._accumulator.next_due_ms()
        now_ms = self._clock.now_ms()
        pause_ms = _POLL_MS if due_ms is None or self._delivery.is_waiting else due_ms - now_ms
        if until_ms is not None:
            pause_ms = min(pause_ms, until_ms - now_ms)
        self._clock.sleep_ms(max(_POLL_MS, pause_ms))
