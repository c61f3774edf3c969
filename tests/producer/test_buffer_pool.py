import random
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from kminilog.clock import ManualClock
from kminilog.course.replays.stepped_callers import GROUP, SteppedPool
from kminilog.errors import BufferExhaustedError, ClientClosedError
from kminilog.producer.buffer_pool import WAIT_RATIO, WAIT_SENSOR, BufferPool
from kminilog.producer.metrics import NS_PER_MS, WINDOW_MS, Metrics

MakePool = Callable[[int, int], SteppedPool]


@pytest.fixture
def make_pool() -> Iterator[MakePool]:
    made: list[SteppedPool] = []

    def make(memory_bytes: int, poolable_size_bytes: int) -> SteppedPool:
        made.append(SteppedPool(memory_bytes, poolable_size_bytes))
        return made[-1]

    yield make
    for stepped in made:
        stepped.end()


def sizes(pool: BufferPool) -> tuple[int, int]:
    """What is not in use: available, pooled."""
    pool.check()
    return pool.available_bytes, pool.pooled_bytes


# ---- granted at once


def test_allocate_takes_from_the_memory_and_deallocate_gives_back(make_pool):
    pool = make_pool(64, 16).pool
    buffer = pool.allocate(10, 0)
    assert (type(buffer), len(buffer)) == (bytearray, 10)
    assert sizes(pool) == (54, 0)
    pool.deallocate(buffer)
    assert sizes(pool) == (64, 0)


def test_allocate_poolable_size_reuses_the_oldest_free_buffer(make_pool):
    stepped = make_pool(64, 16)
    first, second = stepped.take(16), stepped.take(16)
    stepped.give_back(second, first)
    assert sizes(stepped.pool) == (32, 32)
    assert stepped.take(16) is second
    assert stepped.take(16) is first
    assert sizes(stepped.pool) == (32, 0)


def test_allocate_another_size_takes_free_buffers_apart_newest_first_and_only_as_needed(make_pool):
    stepped = make_pool(64, 16)
    buffers = [stepped.take(16) for _ in range(4)]
    stepped.give_back(*buffers)
    stepped.take(17)
    assert sizes(stepped.pool) == (15, 32)
    assert [stepped.take(16) is buffer for buffer in buffers[:2]] == [True, True]


def test_allocate_whole_memory_is_fine_and_more_is_an_error_at_once(make_pool):
    pool = make_pool(64, 16).pool
    with pytest.raises(ValueError) as caught:
        pool.allocate(65, 1_000)
    assert str(caught.value) == (
        "Attempt to allocate 65 bytes, but there is a hard limit of 64 on memory allocations."
    )
    assert len(pool.allocate(64, 0)) == 64


def test_allocate_nothing_takes_nothing_even_if_no_memory_is_left(make_pool):
    pool = make_pool(64, 16).pool
    pool.allocate(64, 0)
    pool.deallocate(pool.allocate(0, 0))
    assert sizes(pool) == (0, 0)


def test_allocate_negative_size_is_refused(make_pool):
    with pytest.raises(ValueError, match="-1 bytes"):
        make_pool(64, 16).pool.allocate(-1, 0)


@pytest.mark.parametrize("arguments", [(-1, 16), (64, -1)])
def test_pool_of_negative_size_is_refused(arguments):
    clock = ManualClock()
    with pytest.raises(ValueError, match="-1 bytes"):
        BufferPool(*arguments, Metrics(clock), clock, GROUP)


def test_allocate_that_the_machine_refuses_takes_nothing(make_pool):
    pool = make_pool(sys.maxsize, 16).pool
    with pytest.raises(MemoryError):
        pool.allocate(sys.maxsize, 0)
    assert sizes(pool) == (sys.maxsize, 0)


# ---- waiting


def test_allocate_without_time_fails_without_waiting(make_pool):
    stepped = make_pool(64, 16)
    stepped.take(60)
    caller = stepped.allocate(5, 0)
    assert isinstance(caller.error, BufferExhaustedError)
    said = "Failed to allocate memory within the configured max blocking time 0 ms"
    assert str(caller.error).startswith(said)
    assert caller.condition.timeouts_seconds == []
    assert sizes(stepped.pool) == (4, 0)


def test_allocate_waits_until_memory_comes_back(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(60)
    caller = stepped.allocate(5)
    assert caller.is_waiting
    assert stepped.pool.waiter_count == 1
    stepped.give_back(held)
    assert caller.buffer == bytearray(5)
    assert stepped.pool.waiter_count == 0
    assert sizes(stepped.pool) == (59, 0)


def test_waiters_are_served_in_the_order_in_which_they_came(make_pool):
    stepped = make_pool(60, 16)
    held = [stepped.take(20) for _ in range(3)]
    large, small = stepped.allocate(40), stepped.allocate(1)
    stepped.give_back(held[0])
    assert (large.is_waiting, small.is_waiting) == (True, True)
    stepped.give_back(held[1])
    assert (large.is_waiting, small.is_waiting) == (False, True)
    stepped.give_back(held[2])
    assert not small.is_waiting


def test_first_waiter_collects_bit_by_bit(make_pool):
    stepped = make_pool(30, 16)
    held = [stepped.take(10) for _ in range(3)]
    caller = stepped.allocate(30)
    for buffer in held:
        assert caller.is_waiting
        stepped.give_back(buffer)
        assert sizes(stepped.pool) == (0, 0)
    assert caller.buffer == bytearray(30)


def test_first_waiter_collects_at_once_what_is_there(make_pool):
    stepped = make_pool(30, 16)
    stepped.take(20)
    stepped.allocate(30)
    assert sizes(stepped.pool) == (0, 0)


def test_waiter_for_a_poolable_buffer_gets_one_while_it_has_collected_nothing(make_pool):
    stepped = make_pool(16, 16)
    held = stepped.take(16)
    caller = stepped.allocate(16)
    stepped.give_back(held)
    assert caller.buffer is held


def test_waiter_for_a_poolable_buffer_that_has_collected_takes_one_apart(make_pool):
    stepped = make_pool(26, 16)
    held, small = stepped.take(16), stepped.take(10)
    caller = stepped.allocate(16)
    stepped.give_back(small)
    stepped.give_back(held)
    assert caller.buffer is not None
    assert caller.buffer is not held
    assert sizes(stepped.pool) == (10, 0)


def test_who_is_served_wakes_the_next_if_memory_is_left(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(64)
    callers = [stepped.allocate(size) for size in (16, 20, 28)]
    stepped.give_back(held)
    assert [len(caller.buffer or b"") for caller in callers] == [16, 20, 28]


def test_newcomer_whose_request_can_be_granted_passes_those_who_wait(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(64)
    waiter = stepped.allocate(64)
    stepped.pool.deallocate(held)
    assert len(stepped.take(10)) == 10
    stepped.wake()
    assert waiter.is_waiting


def test_waiter_woken_for_nothing_waits_on(make_pool):
    stepped = make_pool(64, 16)
    stepped.take(64)
    first, second = stepped.allocate(1), stepped.allocate(1)
    for caller in (second, first):
        stepped.go_on(caller, True)
    assert stepped.waiting == [first, second]


def test_waiter_behind_the_first_takes_nothing_when_it_is_woken_early(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(64)
    first, second = stepped.allocate(64), stepped.allocate(1)
    stepped.pool.deallocate(held)
    second.go_on(True)
    assert stepped.waiting == [first, second]
    stepped.wake()
    assert stepped.waiting == [second]


# ---- the time of a call


def test_time_is_one_budget_for_all_the_waits_of_a_call(make_pool):
    stepped = make_pool(30, 16)
    held = [stepped.take(10) for _ in range(3)]
    caller = stepped.allocate(30, 1_000)
    for duration_ms, buffer in zip((300, 600), held, strict=False):
        stepped.clock.sleep_ms(duration_ms)
        stepped.give_back(buffer)
    assert caller.condition.timeouts_seconds == [1.0, 0.7, 0.1]
    stepped.clock.sleep_ms(100)
    stepped.go_on(caller, True)
    assert isinstance(caller.error, BufferExhaustedError)
    assert caller.error.blocked_ms == 1_000
    assert "within the configured max blocking time 1000 ms; send slower" in str(caller.error)


def test_wait_that_says_the_time_is_over_is_believed_whatever_the_clock_says(make_pool):
    stepped = make_pool(64, 16)
    stepped.take(64)
    caller = stepped.allocate(1)
    stepped.go_on(caller, False)
    assert isinstance(caller.error, BufferExhaustedError)


def test_memory_that_comes_back_in_the_last_moment_is_taken(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(64)
    caller = stepped.allocate(1, 1_000)
    stepped.clock.sleep_ms(1_000)
    stepped.pool.deallocate(held)
    stepped.go_on(caller, False)
    assert caller.buffer == bytearray(1)


def test_time_without_end_is_more_than_a_lock_can_wait_and_does_no_harm(make_pool):
    stepped = make_pool(64, 16)
    stepped.take(64)
    caller = stepped.allocate(1, 2**63 - 1)
    assert caller.condition.timeouts_seconds == [threading.TIMEOUT_MAX]


# ---- failures while waiting


@pytest.mark.parametrize("answer", [False, KeyboardInterrupt()], ids=["time-out", "interrupt"])
def test_waiter_that_fails_gives_back_what_it_collected_and_wakes_the_next(make_pool, answer):
    # The documents' code does neither: 20 of the 30 bytes would be lost, the second wait for ever.
    stepped = make_pool(30, 16)
    held = [stepped.take(10) for _ in range(3)]
    first, second = stepped.allocate(30), stepped.allocate(15)
    stepped.give_back(*held[:2])
    assert sizes(stepped.pool) == (0, 0)
    stepped.go_on(first, answer)
    assert type(first.error) is (KeyboardInterrupt if answer else BufferExhaustedError)
    assert second.buffer == bytearray(15)
    assert sizes(stepped.pool) == (5, 0)


def test_waiter_that_fails_in_the_middle_of_the_queue_leaves_the_others_their_turn(make_pool):
    stepped = make_pool(30, 16)
    held = stepped.take(30)
    first, second, third = (stepped.allocate(10) for _ in range(3))
    stepped.go_on(second, False)
    assert stepped.waiting == [first, third]
    stepped.give_back(held)
    assert stepped.waiting == []


def test_allocate_that_the_machine_refuses_after_waiting_wakes_the_next(make_pool):
    stepped = make_pool(sys.maxsize, 16)
    held = stepped.take(10)
    first, second = stepped.allocate(sys.maxsize), stepped.allocate(20)
    stepped.give_back(held)
    assert isinstance(first.error, MemoryError)
    assert second.buffer == bytearray(20)


# ---- giving back


@pytest.mark.parametrize("size_bytes", [16, 17], ids=["poolable", "other"])
def test_deallocate_twice_is_refused(make_pool, size_bytes):
    stepped = make_pool(64, 16)
    buffer = stepped.take(size_bytes)
    stepped.give_back(buffer)
    before = sizes(stepped.pool)
    with pytest.raises(ValueError, match=r"given back already|no buffer of 17 bytes is out"):
        stepped.pool.deallocate(buffer)
    assert sizes(stepped.pool) == before


def test_deallocate_poolable_buffer_twice_is_refused_while_others_are_out(make_pool):
    stepped = make_pool(64, 16)
    buffer, _ = stepped.take(16), stepped.take(16)
    stepped.give_back(buffer)
    with pytest.raises(ValueError, match="given back already"):
        stepped.pool.deallocate(buffer)


def test_deallocate_size_that_is_not_out_is_refused(make_pool):
    stepped = make_pool(64, 16)
    buffer = stepped.take(16)
    with pytest.raises(ValueError, match="no buffer of 12 bytes is out"):
        stepped.pool.deallocate(buffer, 12)
    with pytest.raises(ValueError, match="no buffer of 3 bytes is out"):
        stepped.pool.deallocate(bytearray(3))
    assert sizes(stepped.pool) == (48, 0)


def test_deallocate_buffer_that_has_grown_frees_its_bytes_and_does_not_pool_it(make_pool):
    stepped = make_pool(64, 16)
    buffer = stepped.take(16)
    buffer += b"more"
    stepped.pool.deallocate(buffer, 16)
    assert sizes(stepped.pool) == (64, 0)


def test_deallocate_buffer_that_was_replaced_by_a_larger_one_frees_the_bytes_allocated(make_pool):
    stepped = make_pool(64, 16)
    stepped.take(10)
    stepped.pool.deallocate(bytearray(16), 10)
    assert sizes(stepped.pool) == (64, 0)


# ---- close


def test_close_wakes_all_who_wait_with_an_error(make_pool):
    stepped = make_pool(64, 16)
    held = [stepped.take(32), stepped.take(32)]
    callers = [stepped.allocate(64), stepped.allocate(1)]
    stepped.give_back(held[0])
    stepped.pool.close()
    stepped.wake()
    assert [type(caller.error) for caller in callers] == [ClientClosedError] * 2
    assert sizes(stepped.pool) == (32, 0)


def test_close_refuses_allocate_and_goes_on_taking_buffers(make_pool):
    stepped = make_pool(64, 16)
    held = stepped.take(32)
    stepped.pool.close()
    stepped.pool.close()
    with pytest.raises(ClientClosedError):
        stepped.take(1)
    stepped.give_back(held)
    assert sizes(stepped.pool) == (64, 0)


# ---- what is measured


@pytest.mark.parametrize("is_served", [True, False], ids=["served", "failed"])
def test_wait_ratio_is_the_share_of_time_spent_waiting_on_failure_too(make_pool, is_served):
    stepped = make_pool(64, 16)
    held = stepped.take(64)
    caller = stepped.allocate(1, 3_000)
    stepped.clock.sleep_ms(1_000)
    stepped.go_on(caller, True)
    stepped.clock.sleep_ms(2_000)
    if is_served:
        stepped.give_back(held)
    else:
        stepped.go_on(caller, False)
    assert (caller.error is None) is is_served
    assert stepped.metrics.value(WAIT_RATIO, GROUP) == pytest.approx(3_000 / WINDOW_MS)


def test_pool_uses_the_sensor_and_metric_that_the_documents_name(make_pool):
    stepped = make_pool(64, 16)
    half_ns = WINDOW_MS // 2 * NS_PER_MS
    stepped.metrics.sensor("bufferpool-wait-time").record(half_ns, stepped.clock.now_ns())
    assert stepped.metrics.values() == {("bufferpool-wait-ratio", GROUP): 0.5}
    assert (WAIT_SENSOR, WAIT_RATIO) == ("bufferpool-wait-time", "bufferpool-wait-ratio")


def test_wait_of_less_than_a_millisecond_is_measured():
    clock = NanosecondClock()

    class TakesNoTime:
        def __init__(self, lock: threading.Lock) -> None:
            self._lock = lock

        def wait(self, timeout_seconds: float) -> bool:
            self._lock.release()
            try:
                clock.sleep_ns(1_500)
                pool.deallocate(held)
                return True
            finally:
                self._lock.acquire()

        def notify(self) -> None:
            pass

    metrics = Metrics(clock)
    pool = BufferPool(16, 16, metrics, clock, GROUP, new_condition=TakesNoTime)
    held = pool.allocate(16, 0)
    pool.allocate(16, 10)
    assert metrics.sensor(WAIT_SENSOR).total_ns == 1_500
    assert metrics.value(WAIT_RATIO, GROUP) == 1_500 / (WINDOW_MS * NS_PER_MS)


class NanosecondClock(ManualClock):
    """A simulated clock that can also sleep for less than a millisecond."""

    slept_ns = 0

    def sleep_ns(self, duration_ns: int) -> None:
        self.slept_ns += duration_ns

    def now_ns(self) -> int:
        return super().now_ns() + self.slept_ns


# ---- other ways to wait


def test_condition_may_work_instead_of_waiting():
    """As a producer without a thread does: it sends a batch, whose memory comes back."""
    clock = ManualClock()
    in_flight: list[bytearray] = []

    class Work:
        def __init__(self, lock: threading.Lock) -> None:
            self._lock = lock

        def wait(self, timeout_seconds: float) -> bool:
            self._lock.release()
            try:
                clock.sleep_ms(1)
                pool.deallocate(in_flight.pop(0))
                return True
            finally:
                self._lock.acquire()

        def notify(self) -> None:
            pass

    pool = BufferPool(48, 16, Metrics(clock), clock, GROUP, new_condition=Work)
    in_flight += [pool.allocate(16, 0) for _ in range(3)]
    assert len(pool.allocate(32, 10)) == 32
    assert clock.now_ms() == 2
    assert sizes(pool) == (0, 0)
    with pytest.raises(BufferExhaustedError):
        pool.allocate(48, 1)  # one step in one millisecond brings only 16 bytes
    assert sizes(pool) == (16, 0)


def test_ten_threads_of_random_allocations_end_with_all_memory_back():
    """The one test here with real waiting; whoever were not woken would fail after a minute."""
    threads, rounds, poolable_size_bytes = 10, 20_000, 1_024
    memory_bytes = threads // 2 * poolable_size_bytes
    clock = ManualClock()
    conditions: list[threading.Condition] = []
    errors: list[BaseException] = []

    def new_condition(lock: threading.Lock) -> threading.Condition:
        conditions.append(threading.Condition(lock))
        return conditions[-1]

    pool = BufferPool(
        memory_bytes, poolable_size_bytes, Metrics(clock), clock, GROUP, new_condition=new_condition
    )

    def allocate_and_give_back(number: int) -> None:
        chance = random.Random(number)
        try:
            for _ in range(rounds):
                is_poolable = chance.getrandbits(1)
                size_bytes = poolable_size_bytes if is_poolable else chance.randrange(1, 1_024)
                buffer = pool.allocate(size_bytes, 60_000)
                assert len(buffer) == size_bytes
                buffer[-1] = number
                time.sleep(0)  # lets another thread run, so that many hold memory at a time
                assert buffer[-1] == number  # nobody else has it
                pool.deallocate(buffer)
        except BaseException as error:  # noqa: BLE001 - told to the test's own thread
            errors.append(error)

    running = [threading.Thread(target=allocate_and_give_back, args=(n,)) for n in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert errors == []
    assert len(conditions) > 1_000, "hardly anybody had to wait"
    assert pool.waiter_count == 0
    assert sum(sizes(pool)) == memory_bytes
