"""The accumulator: what waits, what is ready, what is in flight, and whose memory it is."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kminilog.clock import ManualClock
from kminilog.config import complete_config
from kminilog.errors import BufferExhaustedError, ClientClosedError
from kminilog.format.dialect import KAFKA
from kminilog.format.message import encoded_bytes, scan
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator
from kminilog.producer.batch import Batch, SendFuture, Waiting
from kminilog.producer.buffer_pool import BufferPool
from kminilog.producer.metrics import Metrics
from kminilog.producer.producer import SteppingCondition
from kminilog.producer_settings import PRODUCER_SETTINGS
from tests.support.invariants import check_accumulator

ORDERS_0, ORDERS_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
MESSAGE_BYTES = encoded_bytes(KAFKA, None, b"value")


class Bench:
    """An accumulator with a pool of so many batches, each with room for three messages."""

    def __init__(self, *, batches: int = 10, linger_ms: int = 100, max_block_ms: int = 0) -> None:
        self.clock = ManualClock()
        size = 3 * MESSAGE_BYTES
        self.pool = BufferPool(
            batches * size,
            size,
            Metrics(self.clock),
            self.clock,
            "test",
            new_condition=lambda lock: SteppingCondition(lock, self._let_pass, self.clock),
        )
        config = {"batch.size": size, "linger.ms": linger_ms, "max.block.ms": max_block_ms}
        self.accumulator = Accumulator(
            complete_config(config, PRODUCER_SETTINGS), self.pool, self.clock
        )

    def _let_pass(self, until_ms: int) -> None:
        self.clock.sleep_ms(until_ms - self.clock.now_ms())

    def append(self, place: TopicPartition = ORDERS_0, value: bytes = b"value"):
        size_bytes = encoded_bytes(KAFKA, None, value)
        return self.accumulator.append(place, None, value, size_bytes, Waiting(SendFuture(), None))


def values(batch: Batch) -> list[bytes | None]:
    return [outcome.value for _, outcome in scan(KAFKA, batch.data())]  # type: ignore[union-attr]


def test_batch_carries_its_records_as_messages_of_format_v0_counted_from_0():
    batch = Batch(ORDERS_0, bytearray(200), now_ms=0)
    records = [(None, b"a"), (b"", b""), (b"\xff", None), ("ä".encode(), b"b")]
    for key, value in records:
        batch.append(key, value, Waiting(SendFuture(), None))
    messages = [outcome for _, outcome in scan(KAFKA, batch.data())]
    assert [(m.offset, m.key, m.value) for m in messages] == [
        (offset, *record) for offset, record in enumerate(records)
    ]
    assert batch.size_bytes == sum(encoded_bytes(KAFKA, *record) for record in records)


def test_append_fills_a_batch_before_it_begins_the_next():
    bench = Bench()
    said = [bench.append() for _ in range(4)]
    assert [appended.is_batch_new for appended in said] == [True, False, False, True]
    assert [appended.is_batch_full for appended in said] == [False, False, True, False]
    check_accumulator(bench.accumulator)


def test_close_unless_room_closes_a_batch_without_room_so_that_it_does_not_linger():
    bench = Bench()
    bench.append()
    assert bench.accumulator.close_unless_room("orders", 0, 2 * MESSAGE_BYTES)
    assert bench.accumulator.ready() == []
    assert not bench.accumulator.close_unless_room("orders", 0, 2 * MESSAGE_BYTES + 1)
    assert bench.accumulator.ready() == [ORDERS_0]
    assert bench.append().is_batch_new


def test_append_record_larger_than_a_batch_gets_a_batch_of_its_own_size():
    bench = Bench()
    bench.append()
    assert bench.append(value=bytes(500)).is_batch_new
    assert [len(batch.records) for batch in bench.accumulator.batches] == [1, 1]


def test_append_closes_a_batch_that_has_no_room_for_a_record_even_if_smaller_ones_would_fit():
    bench = Bench()
    bench.append()
    bench.append(value=bytes(40))
    assert bench.append(value=b"1").is_batch_new is False
    first, second = bench.accumulator.batches
    assert (len(first.records), len(second.records)) == (1, 2)


@pytest.mark.parametrize(
    ("situation", "count", "is_ready"),
    [("not full", 1, False), ("full", 3, True), ("another one after it", 4, True)],
)
def test_batch_is_ready_when_it_is_full_or_followed(situation, count, is_ready):
    bench = Bench()
    for _ in range(count):
        bench.append()
    assert bench.accumulator.ready() == ([ORDERS_0] if is_ready else [])


def test_batch_is_ready_when_it_has_lingered_and_not_before():
    bench = Bench(linger_ms=100)
    bench.append()
    assert bench.accumulator.next_due_ms() == 100
    bench.clock.sleep_ms(99)
    assert bench.accumulator.ready() == []
    bench.clock.sleep_ms(1)
    assert bench.accumulator.ready() == [ORDERS_0]


def test_all_batches_are_ready_while_somebody_flushes():
    bench = Bench()
    bench.append(ORDERS_0)
    bench.append(ORDERS_1)
    bench.accumulator.set_flushing(True)
    assert bench.accumulator.ready() == [ORDERS_0, ORDERS_1]
    bench.accumulator.set_flushing(False)
    assert bench.accumulator.ready() == []


def test_drain_takes_one_batch_of_a_partition_and_no_second_while_that_is_in_flight():
    bench = Bench()
    for number in range(6):
        bench.append(value=b"val-%d" % number)
    (first,) = bench.accumulator.drain()
    assert values(first) == [b"val-0", b"val-1", b"val-2"]
    assert list(bench.accumulator.drain()) == []
    bench.accumulator.complete(first)
    (second,) = bench.accumulator.drain()
    assert values(second) == [b"val-3", b"val-4", b"val-5"]


def test_put_back_batch_comes_first_again_and_not_before_its_time():
    bench = Bench()
    for number in range(6):
        bench.append(value=b"val-%d" % number)
    (first,) = bench.accumulator.drain()
    first.attempts = 1
    bench.accumulator.put_back(first, not_before_ms=100)
    assert list(bench.accumulator.drain()) == []
    bench.clock.sleep_ms(100)
    assert list(bench.accumulator.drain()) == [first]
    check_accumulator(bench.accumulator)


def test_append_behind_a_batch_that_was_put_back_begins_a_new_one():
    bench = Bench()
    bench.append()
    bench.clock.sleep_ms(100)
    (first,) = bench.accumulator.drain()
    bench.accumulator.put_back(first, not_before_ms=0)
    assert bench.append().is_batch_new
    assert len(first.records) == 1


def test_memory_of_a_batch_in_flight_is_not_in_the_pool_before_it_is_complete():
    bench = Bench(batches=1)
    for _ in range(3):
        bench.append()
    (batch,) = bench.accumulator.drain()
    with pytest.raises(BufferExhaustedError):
        bench.append(ORDERS_1, b"other")
    assert values(batch) == [b"value"] * 3
    bench.accumulator.complete(batch)
    assert bench.append(ORDERS_1, b"other").is_batch_new


def test_close_gives_back_what_waits_and_keeps_away_what_is_in_flight():
    bench = Bench()
    for _ in range(4):
        bench.append()
    (in_flight,) = bench.accumulator.drain()
    flying, waiting = bench.accumulator.close()
    assert flying is in_flight
    assert len(waiting.records) == 1
    in_use = bench.pool.memory_bytes - bench.pool.available_bytes - bench.pool.pooled_bytes
    assert in_use == len(in_flight.buffer)
    with pytest.raises(ClientClosedError):
        bench.append()
    bench.accumulator.complete(in_flight)
    bench.pool.check()


class AccumulatorMachine(RuleBasedStateMachine):
    """Any sequence of appends, drains, failures and successes: order and memory are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench(batches=4, linger_ms=5)
        self.in_flight: list[Batch] = []
        self.appended: dict[TopicPartition, list[bytes]] = {ORDERS_0: [], ORDERS_1: []}
        self.delivered: dict[TopicPartition, list[bytes | None]] = {ORDERS_0: [], ORDERS_1: []}

    @rule(place=st.sampled_from([ORDERS_0, ORDERS_1]), extra=st.integers(0, 300))
    def append(self, place: TopicPartition, extra: int) -> None:
        value = b"%05d" % len(self.appended[place]) + bytes(extra if extra > 200 else 0)
        try:
            self.bench.append(place, value)
        except BufferExhaustedError:
            return
        self.appended[place].append(value)

    @rule()
    def drain(self) -> None:
        self.in_flight += self.bench.accumulator.drain()

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        batch = self.in_flight.pop(data.draw(st.integers(0, len(self.in_flight) - 1)))
        self.delivered[batch.topic_partition] += values(batch)
        self.bench.accumulator.complete(batch)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data(), backoff_ms=st.integers(0, 20))
    def fail(self, data: st.DataObject, backoff_ms: int) -> None:
        batch = self.in_flight.pop(data.draw(st.integers(0, len(self.in_flight) - 1)))
        batch.attempts += 1
        not_before_ms = self.bench.clock.now_ms() + backoff_ms
        self.bench.accumulator.put_back(batch, not_before_ms=not_before_ms)

    @rule(duration_ms=st.integers(1, 20))
    def let_time_pass(self, duration_ms: int) -> None:
        self.bench.clock.sleep_ms(duration_ms)

    @invariant()
    def order_is_kept_and_one_batch_of_a_partition_is_in_flight(self) -> None:
        check_accumulator(self.bench.accumulator)
        places = [batch.topic_partition for batch in self.in_flight]
        assert len(set(places)) == len(places)
        for place, delivered in self.delivered.items():
            assert delivered == self.appended[place][: len(delivered)]

    def teardown(self) -> None:
        self.bench.clock.sleep_ms(100)
        for batch in self.in_flight:
            self.bench.accumulator.put_back(batch, not_before_ms=0)
        while batches := list(self.bench.accumulator.drain()):
            for batch in batches:
                self.delivered[batch.topic_partition] += values(batch)
                self.bench.accumulator.complete(batch)
        assert self.delivered == self.appended
        assert self.bench.accumulator.batches == []
        assert self.bench.pool.available_bytes + self.bench.pool.pooled_bytes == (
            self.bench.pool.memory_bytes
        )


TestAccumulator = AccumulatorMachine.TestCase
