"""Checks of lab 7: the memory of a producer, its interceptors, and what it may believe."""

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, MutableMapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

from kminilog.clock import ManualClock
from kminilog.cluster.leadership import Leadership, settle
from kminilog.cluster.mini_cluster import MiniCluster
from kminilog.config import complete_config
from kminilog.course.comparing import Comparer
from kminilog.course.replays.stepped_callers import Caller, SteppedPool
from kminilog.errors import (
    BufferExhaustedError,
    ClientClosedError,
    KMiniLogError,
    LeaderNotAvailableError,
    MessageTooLargeError,
    NotLeaderForPartitionError,
    RequestTimedOutError,
    RetriableError,
)
from kminilog.format.dialect import DOCUMENTED, KAFKA
from kminilog.format.message import Message, encode, scan
from kminilog.format.names import TopicPartition
from kminilog.producer.accumulator import Accumulator, release
from kminilog.producer.batch import Batch, SendFuture, Waiting
from kminilog.producer.buffer_pool import BufferPool, Waiter
from kminilog.producer.delivery import may_retry
from kminilog.producer.interceptors import ProducerInterceptor, ProducerInterceptors
from kminilog.producer.manual_producer import ManualProducer
from kminilog.producer.metrics import Metrics
from kminilog.producer.record import ProducerRecord
from kminilog.producer_settings import PRODUCER_SETTINGS
from kminilog.storage.topics import Topic
from kminilog.text import count, table

Run = Callable[[Any], Any]
"""What becomes of a case with a function: the student's, the library's, or a mistaken one."""

# ---- what the student is given


def first_win(name: str) -> list[str]:
    """Return what a buffer says that goes back to the pool while a leader still reads it."""
    sent, later = (encode(KAFKA, 0, None, text.encode()) for text in (name, "somebody else"))
    size = max(len(sent), len(later))
    pool = _pool(2 * size, size)
    buffer = pool.allocate(size, 0)
    buffer[: len(sent)] = sent
    rows = [("your batch is sent, and still on its way", _first_value(buffer))]
    pool.deallocate(buffer)
    again = pool.allocate(size, 0)
    again[: len(later)] = later
    rows.append(("the next batch gets the same buffer", _first_value(buffer)))
    return table(("when", "the leader reads"), rows)


def _pool(memory_bytes: int, poolable_size_bytes: int) -> BufferPool:
    clock = ManualClock()
    return BufferPool(memory_bytes, poolable_size_bytes, Metrics(clock), clock, "lab")


def _first_value(buffer: bytearray) -> str:
    _, message = next(scan(KAFKA, bytes(buffer)), (0, None))
    return (message.value or b"").decode() if isinstance(message, Message) else "no message"


_ORDERS, _PAYMENTS = TopicPartition("orders", 1), TopicPartition("payments", 0)


def write_files(folder: Path, name: str, seed: int) -> None:
    """Write a cluster of two brokers of which broker 0 has crashed; the seed says when.

    `orders` has one copy: orders for partition 0 went on to partition 1. `payments` has two, and
    acks was 1: the last ones were acknowledged before broker 1 had copied them.
    """
    shutil.rmtree(folder / "cluster", ignore_errors=True)
    chance, clock = Random(seed), ManualClock()
    whole, (moved, lost) = 6 + chance.randrange(4), chance.sample(range(2, 6), 2)
    config = {
        "partitioner.class": "default-0.8",
        "key.serializer": "integer",
        "value.serializer": "string",
        "send.switch.broker.enable": True,
    }
    with MiniCluster.open(folder / "cluster", brokers=2, clock=clock) as cluster:
        cluster.create_topic(Topic(_ORDERS.topic, 2))
        cluster.create_topic(Topic(_PAYMENTS.topic, 1), replication_factor=2)
        with ManualProducer(
            cluster, config, clock=clock, chance=chance, alongside=lambda: False
        ) as producer:

            def send(topic: str, numbers: range, *, keys: int | None = None) -> None:
                for number in numbers:
                    key = None if keys is None else number % keys
                    producer.send(ProducerRecord(topic, key, f"{topic} {number} of {name[:20]}"))
                    producer.flush()

            send(_ORDERS.topic, range(2 * whole), keys=2)
            send(_PAYMENTS.topic, range(whole))
            while cluster.replicate():
                pass
            send(_PAYMENTS.topic, range(whole, whole + lost))
            cluster.crash(0)
            send(_ORDERS.topic, range(2 * whole, 2 * (whole + moved)), keys=2)


# ---- 7.1 the ledger


def precondition_1(self: BufferPool, size_bytes: int) -> bool:
    """The caller holds the lock, and has made sure that both together are enough."""
    return self._lock.locked() and 0 <= size_bytes <= self.available_bytes + self.pooled_bytes


class _FreeList(OrderedDict[int, bytearray]):
    """A free list that counts the buffers at which somebody looks."""

    looks = 0

    def __iter__(self) -> Iterator[int]:
        return map(self._seen, super().__iter__())

    def __reversed__(self) -> Iterator[int]:
        return map(self._seen, super().__reversed__())

    def _seen(self, key: int) -> int:
        self.looks += 1
        return key

    keys, values, items = MutableMapping.keys, MutableMapping.values, MutableMapping.items


def _taken(
    available_bytes: int, free_count: int, each_bytes: int, size_bytes: int, take: Any
) -> BufferPool:
    pool = _pool(200, each_bytes)
    pool._available_bytes = available_bytes
    buffers = [bytearray(each_bytes) for _ in range(free_count)]
    pool._free = _FreeList((id(buffer), buffer) for buffer in buffers)
    with pool._lock:
        take(pool, size_bytes)
    return pool


def _after_taking(*case: Any) -> str:
    try:
        pool = _taken(*case)
    except ZeroDivisionError as error:
        return type(error).__name__
    except KeyError as error:
        if error.args != ("dictionary is empty",):
            raise
        return "popitem of an empty list"
    return f"{pool.available_bytes} available, {pool.pooled_bytes} free"


def _giving_up(pool: Any, size_bytes: int, *, at: int = 0) -> None:
    while pool._free and pool._available_bytes < size_bytes + at:
        pool._free.popitem()
        pool._available_bytes += pool.poolable_size_bytes


def _until_enough(add_bytes: Run, *, at: int = 0) -> Callable[..., None]:
    """Return take_bytes that looks at available alone: popitem may find the list empty."""

    def take_bytes(pool: Any, size_bytes: int) -> None:
        while pool._available_bytes < size_bytes + at:
            pool._free.popitem()
            pool._available_bytes += add_bytes(pool)
        pool._available_bytes -= size_bytes

    return take_bytes


def _poolable(pool: Any) -> int:
    return int(pool.poolable_size_bytes)


def _gives_up_all(pool: Any, size_bytes: int) -> None:
    pool._available_bytes += pool.pooled_bytes - size_bytes
    pool._free.clear()


def _gives_up_all_if_short(pool: Any, size_bytes: int) -> None:
    if pool._available_bytes < size_bytes:
        _gives_up_all(pool, size_bytes)
    else:
        pool._available_bytes -= size_bytes


def _never_gives_up(pool: Any, size_bytes: int) -> None:
    pool._available_bytes -= size_bytes


def _gives_up_one(pool: Any, size_bytes: int) -> None:
    if pool._available_bytes < size_bytes:
        pool._free.popitem()
        pool._available_bytes += pool.poolable_size_bytes
    pool._available_bytes -= size_bytes


def _gives_up_first(pool: Any, size_bytes: int) -> None:
    before = pool._available_bytes
    while pool._free and pool._available_bytes - before < size_bytes:
        pool._free.popitem()
        pool._available_bytes += pool.poolable_size_bytes
    pool._available_bytes -= size_bytes


def _takes_whole_buffer(pool: Any, size_bytes: int) -> None:
    if size_bytes == pool.poolable_size_bytes and pool._free:
        pool._free.popitem()
    else:
        BufferPool.take_bytes(pool, size_bytes)


def _gives_up_early(pool: Any, size_bytes: int) -> None:
    _giving_up(pool, size_bytes, at=1)
    pool._available_bytes -= size_bytes


def _loses_remainder(pool: Any, size_bytes: int) -> None:
    is_short = pool._available_bytes < size_bytes
    _giving_up(pool, size_bytes)
    pool._available_bytes = 0 if is_short else pool._available_bytes - size_bytes


def _counts_none(pool: Any, size_bytes: int) -> None:
    before = pool._available_bytes
    _giving_up(pool, size_bytes)
    pool._available_bytes = before - size_bytes


def exercise_1(compare: Comparer, take_bytes: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {
        f"take_bytes({size}): {available} available, {number} free of {each}": partial(
            _after_taking, available, number, each, size
        )
        for available, number, each, size in (
            (40, 0, 16, 10),
            (0, 3, 16, 16),
            (0, 3, 16, 17),
            (10, 3, 16, 42),
            (10, 3, 16, 58),
            (10, 3, 16, 10),
            (30, 2, 16, 5),
            (30, 2, 16, 31),
            (0, 2, 16, 0),
            (64, 0, 16, 64),
            (20, 2, 16, 16),
            (5, 4, 7, 20),
        )
    }
    readings = (
        ("gives-up-all", _gives_up_all),
        ("gives-up-all", _gives_up_all_if_short),
        ("never-gives-up", _never_gives_up),
        ("gives-up-one", _gives_up_one),
        ("gives-up-first", _gives_up_first),
        ("gives-up-first", _takes_whole_buffer),
        ("gives-up-early", _gives_up_early),
        ("remainder-lost", _loses_remainder),
        ("freed-not-counted", _counts_none),
        ("freed-not-counted", _until_enough(lambda pool: 0)),
        ("gives-up-early", _until_enough(_poolable, at=1)),
        ("pair-is-not-buffer", _until_enough(lambda pool: 2)),
        ("not-charged", _giving_up),
    )
    compare.runs(cases, take_bytes, BufferPool.take_bytes, readings)
    compare.equal(
        "take_bytes(10): 40 available, batch.size 0",
        partial(_after_taking, 40, 0, 0, 10, take_bytes),
        "30 available, 0 free",
        {"divides-by-zero": "ZeroDivisionError"},
    )
    free: Any = _taken(0, 100, 16, 20, take_bytes)._free
    what = "buffers that were looked at, to give up 2 of 100"
    compare.at_most(what, free.looks, 10, "walks-free-list")


# ---- 7.2 one poolable size


def _after_return(allocated: int, length: int, told: int | None, poolable: int, give: Any) -> str:
    """Return where the memory is, and which buffer of the poolable size is the next."""
    pool = _pool(64, poolable)
    buffer = pool.allocate(allocated, 0)
    buffer[:] = bytes(length)
    try:
        give(pool, buffer, told)
    except ValueError as error:
        return str(error)
    available, free = pool.available_bytes, pool.pooled_bytes
    following = pool.allocate(poolable, 0)
    return f"{available} + {free} free, next {'it' if following is buffer else len(following)}"


def _keeps(
    is_kept: Callable[[int, int, int], object],
    kept: Callable[[bytearray], Any] = lambda it: it,
    *,
    zero_is_none: bool = False,
) -> Callable[..., None]:
    """Return deallocate with another rule which buffers are kept, by allocated size, length
    now, and poolable size; or what is kept of one."""

    def deallocate(pool: Any, buffer: bytearray, size_bytes: int | None = None) -> None:
        is_told = size_bytes if zero_is_none else size_bytes is not None
        allocated = size_bytes if is_told and size_bytes is not None else len(buffer)
        is_reused = is_kept(allocated, len(buffer), pool.poolable_size_bytes)
        pool._give_back(allocated, kept(buffer) if is_reused else None)

    return deallocate


def _is_poolable(size: int, length: int, poolable: int) -> bool:
    return size == length == poolable


def _by_length(pool: Any, buffer: bytearray, size_bytes: int | None = None) -> None:
    BufferPool.deallocate(pool, buffer, len(buffer))


def _or_length(pool: Any, buffer: bytearray, size_bytes: int | None = None) -> None:
    BufferPool.deallocate(pool, buffer, size_bytes or len(buffer))


def exercise_2(compare: Comparer, deallocate: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {}
    for allocated, length, told, poolable in (
        (16, 16, None, 16),
        (16, 16, 16, 16),
        (10, 10, None, 16),
        (64, 64, 64, 16),
        (16, 40, 16, 16),
        (16, 10, 16, 16),
        (10, 16, 10, 16),
        (40, 16, 40, 16),
        (0, 16, 0, 16),
        (20, 20, 20, 20),
        (16, 16, 16, 20),
        (0, 0, None, 0),
    ):
        said = "" if told is None else f", {told}"
        call = f"deallocate(buffer of {allocated}, now {length}{said}), poolable {poolable}"
        cases[call] = partial(_after_return, allocated, length, told, poolable)
    rules: tuple[tuple[str, Callable[[int, int, int], object]], ...] = (
        ("pools-any-size", lambda size, length, poolable: True),
        ("pools-any-size", lambda size, length, poolable: size == length),
        ("pools-grown", lambda size, length, poolable: size == poolable),
    )
    readings = (
        *((code, _keeps(rule)) for code, rule in rules),
        # `size_bytes or len(buffer)`: the rule fails first.
        *((code, _keeps(rule, zero_is_none=True)) for code, rule in rules),
        ("pools-grown", _keeps(lambda size, length, poolable: length >= size == poolable)),
        ("pools-shorter", _keeps(lambda size, length, poolable: length <= size == poolable)),
        ("pools-by-length", _keeps(lambda size, length, poolable: length == poolable)),
        ("pools-copy", _keeps(_is_poolable, bytearray)),
        ("empty-is-falsy", _keeps(lambda *sizes: _is_poolable(*sizes) and sizes[1])),
        ("never-pools", _keeps(lambda size, length, poolable: False)),
        ("counts-length-now", _by_length),
        ("zero-is-falsy", _or_length),
    )
    compare.runs(cases, deallocate, BufferPool.deallocate, readings)
    pool = _pool(64, 16)
    one, other = (pool.allocate(16, 0) for _ in range(2))
    for buffer in one, other:
        deallocate(pool, buffer)
    compare.equal(
        "deallocate(two buffers with the same bytes), free",
        lambda: pool.pooled_bytes,
        32,
        {"equal-is-not-same": 16},
    )
    call = "deallocate(a buffer that was given back already)"
    again = partial(deallocate, pool, other)
    compare.refuses(call, again, ValueError, {"second-return-unnoticed": None})
    for length in (16, 40):
        grown = pool.allocate(16, 0)
        grown[:] = bytes(range(length))
        deallocate(pool, grown, 16)
        is_kept = grown == bytes(range(length))
        call = f"deallocate(buffer of 16, now {length}, 16), its bytes then"
        compare.holds(is_kept, call, "others", "the same", "buffer-changed")
    late = pool.allocate(16, 0)
    pool.close()
    with suppress(ClientClosedError):
        deallocate(pool, late)
    call = "deallocate(buffer of 16) in a closed pool, in use"
    in_use = 64 - pool.available_bytes - pool.pooled_bytes
    compare.equal(call, lambda: in_use, 0, {"closed-pool-refuses": 16})


# ---- 7.3 and 7.4 waiting

_EXPECTED_ERRORS = (BufferExhaustedError, ClientClosedError, KeyboardInterrupt)


def precondition_3(self: BufferPool, size_bytes: int, max_time_to_block_ms: int) -> bool:
    """The caller holds the lock, and waits only if too little is free."""
    free_bytes = self.available_bytes + self.pooled_bytes
    return self._lock.locked() and size_bytes > free_bytes and max_time_to_block_ms >= 0


def precondition_4(self: BufferPool, waiter: Waiter, max_time_to_block_ms: int) -> bool:
    """The caller holds the lock, and has put the waiter into the queue."""
    return self._lock.locked() and waiter in self._waiters and max_time_to_block_ms >= 0


class _Queue:
    """A pool on which one method is the student's, and callers that move when they are told to.

    `returned` is what this method has returned.
    """

    def __init__(self, memory_bytes: int, method: str, function: Any) -> None:
        threading.stack_size(1 << 18)  # the limit on memory counts the stacks of all threads
        self.stepped = SteppedPool(memory_bytes, 16)
        self.returned: list[Any] = []

        def noted(*arguments: Any, **named: Any) -> Any:
            self.returned.append(function(*arguments, **named))
            return self.returned[-1]

        own = {method: noted, "check": lambda self: None}
        self.pool: Any = self.stepped.pool
        self.pool.__class__ = type("Mine", (BufferPool,), own)
        self.callers: list[Caller] = []

    def ask(self, size_bytes: int, wait_ms: int = 1_000) -> Caller:
        self.callers.append(self.stepped.allocate(size_bytes, wait_ms))
        return self.callers[-1]

    def give_back(self, *buffers: bytearray) -> str:
        self.stepped.give_back(*buffers)
        return self.states()

    def passes(self, caller: Caller, duration_ms: int = 1_000) -> None:
        """Let time pass; the wait of a caller is over."""
        self.stepped.clock.sleep_ms(duration_ms)
        if caller.is_waiting:
            self.stepped.go_on(caller, False)

    def states(self) -> str:
        """Return what became of each caller: A is the first one that asked."""
        for caller in self.callers:
            if caller.error and not isinstance(caller.error, _EXPECTED_ERRORS):
                raise caller.error
        states = [
            "fails" if caller.error else "waits" if caller.is_waiting else "served"
            for caller in self.callers
        ]
        return ", ".join(f"{name} {state}" for name, state in zip("ABC", states, strict=False))

    def end(self, *told: object) -> str:
        """Return what was seen, and let the callers end."""
        seen = ", ".join(map(str, told))
        for caller in self.callers:
            if caller.is_waiting:
                caller.go_on(KeyboardInterrupt())
        return seen


def _after_error(error: BaseException, method: str, function: Any) -> str:
    queue = _Queue(64, method, function)
    queue.stepped.take(60)
    caller = queue.ask(20)
    caller.go_on(error)
    outcome = type(caller.error).__name__ if caller.error else queue.states()
    return queue.end(outcome, f"{queue.pool.available_bytes} available")


def _in_order(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(20) for _ in range(3)]
    for size in (40, 10, 20):
        queue.ask(size)
    orders = []
    for buffer in held:
        queue.give_back(buffer)
        orders.append("".join(n for n, c in zip("ABC", queue.callers, strict=True) if c.buffer))
    return queue.end("served " + ", ".join(each or "nobody" for each in orders))


def _after_time_out(method: str, function: Any) -> str:
    queue = _Queue(64, method, function)
    queue.stepped.take(60)
    queue.passes(queue.ask(20))
    return queue.end(queue.states(), f"{queue.pool.available_bytes} available")


def _waiting_after_time_out(method: str, function: Any) -> str:
    queue = _Queue(64, method, function)
    queue.stepped.take(60)
    queue.passes(queue.ask(20))
    return queue.end(f"{queue.pool.waiter_count} in the queue")


def _after_interrupt(method: str, function: Any) -> str:
    queue = _Queue(64, method, function)
    queue.stepped.take(60)
    queue.stepped.go_on(queue.ask(20), KeyboardInterrupt())
    return queue.end(queue.states(), f"{queue.pool.available_bytes} available")


def _next_after_time_out(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(30), queue.stepped.take(30)]
    first, _ = queue.ask(60), queue.ask(20)
    queue.give_back(held[0])
    queue.passes(first)
    return queue.end(queue.states())


def _first_after_time_out_of_second(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(30), queue.stepped.take(30)]
    queue.ask(40)
    queue.passes(queue.ask(20, 500), 500)
    queue.give_back(*held)
    return queue.end(queue.states())


def _next_after_success(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    queue.ask(20)
    queue.ask(20)
    return queue.end(queue.give_back(held), f"{queue.pool.available_bytes} left")


def _gets_free_buffer(method: str, function: Any) -> str:
    queue = _Queue(16, method, function)
    held = queue.stepped.take(16)
    caller = queue.ask(16)
    queue.give_back(held)
    is_same = caller.buffer is held
    return queue.end(queue.states(), "the same buffer" if is_same else "another buffer")


def _is_told(method: str, function: Any) -> tuple[list[int], list[Any]]:
    """Return how long a call wants to wait, in ms, and what it returns when it has its bytes."""
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    caller = queue.ask(20, 700)
    queue.give_back(held)
    queue.end()
    return [round(1_000 * each) for each in caller.condition.timeouts_seconds], queue.returned


def _conditions(method: str, function: Any) -> int:
    queue = _Queue(60, method, function)
    queue.stepped.take(60)
    for _ in range(3):
        queue.ask(20)
    number = len({id(waiter.condition) for waiter in queue.pool._waiters})
    queue.end()
    return number


def _woken_by_first(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    for size in (40, 30, 30):
        queue.ask(size)
    queue.pool.deallocate(held)
    queue.callers[0].go_on(True)  # and the others stand still
    callers = zip("BC", queue.callers[1:], strict=True)
    return queue.end("".join(name for name, each in callers if each.condition.is_notified))


def _left_by_second(method: str, function: Any) -> int:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(20) for _ in range(3)]
    queue.ask(40)
    second = queue.ask(20)
    queue.pool.deallocate(held[0])
    second.go_on(KeyboardInterrupt())  # before the first has collected
    left_bytes: int = queue.pool.available_bytes
    queue.end()
    return left_bytes


def _waiting_in_queue(
    *,
    join: str = "append",
    back: type[BaseException] | None = BaseException,
    back_wanted: bool = False,
    wakes: tuple[bool, bool] = (True, True),
    leaves: bool = True,
    always: bool = False,
    late: bool = False,
    pops: bool = False,
    drops: bool = False,
    passes: bool = True,
) -> Callable[..., Any]:
    """Return wait_in_queue with one thing done otherwise; `wakes` is on success, on failure."""

    def wait_in_queue(pool: Any, size_bytes: int, max_time_to_block_ms: int) -> Any:
        waiter = Waiter(pool._new_condition(pool._lock), size_bytes)
        getattr(pool._waiters, join)(waiter)
        is_served = False
        try:
            pool.wait_until_served(waiter, max_time_to_block_ms)
            is_served = True
        except BaseException as error:
            if back and isinstance(error, back) and not always:
                pool._available_bytes += size_bytes if back_wanted else waiter.collected_bytes
            if passes:
                raise
        finally:
            if always:
                pool._available_bytes += waiter.collected_bytes
            if leaves or is_served:
                pool._waiters.remove(pool._waiters[0] if pops else waiter)
            if wakes[0 if is_served else 1]:
                pool._wake_first()
            if late and is_served:
                pool._available_bytes += waiter.collected_bytes
        return None if drops else waiter.buffer

    return wait_in_queue


def exercise_3(compare: Comparer, wait_in_queue: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {
        "40, 10, 20 wait, 3 x 20 return": _in_order,
        "time-out with 4 of 20": _after_time_out,
        "Ctrl-C with 4 of 20": _after_interrupt,
        "after a time-out": _waiting_after_time_out,
        "A has 30 of 60 and fails": _next_after_time_out,
        "B fails, then 60 return": _first_after_time_out_of_second,
        "20, 20 wait, 60 return": _next_after_success,
        "a buffer of 16 returns": _gets_free_buffer,
    }
    runs = {call: partial(run, "wait_in_queue") for call, run in cases.items()}
    readings = (
        ("lifo-waiters", _waiting_in_queue(join="appendleft")),
        ("leak-on-timeout", _waiting_in_queue(back=None)),
        ("leak-on-timeout", _waiting_in_queue(back=None, leaves=False, wakes=(True, False))),
        ("leak-on-timeout", _waiting_in_queue(back=None, pops=True)),
        ("leak-on-interrupt", _waiting_in_queue(back=Exception)),
        ("leak-on-interrupt", _waiting_in_queue(back=Exception, pops=True)),
        ("gives-back-wanted", _waiting_in_queue(back_wanted=True)),
        ("gives-back-wanted", _waiting_in_queue(back_wanted=True, pops=True)),
        ("wakes-nobody", _waiting_in_queue(wakes=(False, False))),
        ("wakes-nobody-after-failure", _waiting_in_queue(wakes=(True, False))),
        ("wakes-nobody-after-success", _waiting_in_queue(wakes=(False, True))),
        ("stays-in-queue", _waiting_in_queue(leaves=False)),
        ("removes-the-first", _waiting_in_queue(pops=True)),
        ("gives-back-always", _waiting_in_queue(always=True)),
        ("gives-back-always", _waiting_in_queue(late=True)),
        ("free-buffer-dropped", _waiting_in_queue(drops=True)),
        ("error-replaced", _waiting_in_queue(passes=False)),
    )
    compare.runs(runs, wait_in_queue, BufferPool.wait_in_queue, readings)
    own = "wait_in_queue", wait_in_queue
    for error in (KeyboardInterrupt(), ClientClosedError("producer"), SystemExit(), OSError()):
        name = type(error).__name__
        compare.equal(
            f"{name} with 4 of 20",
            partial(_after_error, error, *own),
            f"{name}, 4 available",
            {
                "leaks-on-some-errors": f"{name}, 0 available",
                "error-replaced": "BufferExhaustedError, 4 available",
            },
        )
    waits, returned = _is_told(*own)
    call = "wait_in_queue(20, 700)"
    compare.holds(waits == [700], f"{call}, waits in ms", str(waits), "[700]", "time-not-passed-on")
    compare.equal(call, lambda: returned[-1], None, {"makes-buffer": bytearray(20)})
    call = "conditions of three that wait"
    compare.equal(call, partial(_conditions, *own), 3, {"shares-condition": 1})
    call = "40, 30, 30 wait, 60 return: A wakes"
    compare.equal(call, partial(_woken_by_first, *own), "B", {"wakes-all": "BC"})
    call = "20 are back, then B fails: available"
    compare.equal(call, partial(_left_by_second, *own), 20, {"sets-available": 0})


def _budget(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(20) for _ in range(3)]
    caller = queue.ask(60, 1_000)
    for buffer in held[:2]:
        queue.stepped.clock.sleep_ms(300)
        queue.give_back(buffer)
    waits = [round(1_000 * each) for each in caller.condition.timeouts_seconds]
    return queue.end(f"waits {', '.join(map(str, waits))} ms")


def _second_wakes_first(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(20) for _ in range(3)]
    first, second = queue.ask(40), queue.ask(10)
    queue.pool.deallocate(held[0])  # and before the first wakes up, the second does
    second.go_on(True)
    first.go_on(True)
    return queue.end(queue.states())


def _just_in_time(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    caller = queue.ask(60, 1_000)
    queue.pool.deallocate(held)
    queue.passes(caller)
    return queue.end(queue.states())


def _closed(is_memory_back: bool, late_ms: int, method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    caller = queue.ask(20)
    if is_memory_back:
        queue.pool.deallocate(held)
    queue.pool.close()
    queue.stepped.clock.sleep_ms(late_ms)
    queue.stepped.wake()
    return queue.end(queue.states(), type(caller.error).__name__ if caller.error else "no error")


def _time_over(wait_ms: int, late_ms: int, method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    queue.stepped.take(60)
    caller = queue.ask(20, wait_ms)
    waits = len(caller.condition.timeouts_seconds)
    queue.passes(caller, wait_ms + late_ms)
    told = getattr(caller.error, "blocked_ms", "no")
    return queue.end(queue.states(), count(waits, "wait"), f"{told} ms")


def _woken_for_nothing(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    queue.stepped.take(60)
    queue.stepped.go_on(queue.ask(20), True)
    return queue.end(queue.states())


def _woken_often(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    queue.stepped.take(60)
    caller = queue.ask(20)
    for _ in range(20):
        if caller.is_waiting:
            caller.go_on(True)
    return queue.end(queue.states())


def _second_out_of_time(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = [queue.stepped.take(20) for _ in range(3)]
    queue.ask(40)
    second = queue.ask(10, 500)
    queue.pool.deallocate(held[0])  # and before the first wakes up, the second's time is over
    queue.stepped.clock.sleep_ms(500)
    second.go_on(False)
    return queue.end(queue.states())


def _one_after_other(method: str, function: Any) -> str:
    queue = _Queue(60, method, function)
    held = queue.stepped.take(60)
    queue.ask(40)
    queue.ask(20)
    return queue.end(queue.give_back(held))


def _waits_and_records(method: str, function: Any) -> int:
    """Return how many waits the sensor knows of, after one."""
    queue = _Queue(60, method, function)
    queue.stepped.take(60)
    told: list[int] = []
    queue.pool._wait_time = SimpleNamespace(record=lambda took_ns, _: told.append(took_ns))
    queue.passes(queue.ask(20))
    return len(told)


def _waiting_until_served(
    *,
    budget: bool = True,
    waits_for_rest: bool = True,
    first_only: bool = True,
    clock_first: bool = False,
    hears_close: bool = True,
    raises: bool = True,
    waits_at_zero: bool = False,
    once: bool = False,
    hears_time: bool = True,
    last_look: bool = True,
) -> Callable[..., Any]:
    """Return wait_until_served with one thing done otherwise."""

    def wait_until_served(pool: Any, waiter: Any, max_time_to_block_ms: int) -> None:
        deadline_ms = pool._clock.now_ms() + max_time_to_block_ms
        is_over = False
        while True:
            if hears_close:
                pool._refuse_if_closed()
            remaining_ms = deadline_ms - pool._clock.now_ms() if budget else max_time_to_block_ms
            is_over = is_over or (remaining_ms <= 0 and not waits_at_zero)
            if (pool._waiters[0] is waiter or not first_only) and not (is_over and clock_first):
                pool._collect(waiter)
            if waiter.is_served or (is_over and not raises):
                return
            if is_over:
                raise BufferExhaustedError(blocked_ms=int(max_time_to_block_ms))
            wait_ms = max(remaining_ms, 0) if waits_for_rest else max_time_to_block_ms
            is_awake = pool._wait_once(waiter.condition, wait_ms)
            is_over = once or (hears_time and not is_awake)
            if not (is_awake or last_look):
                raise BufferExhaustedError(blocked_ms=int(max_time_to_block_ms))

    return wait_until_served


def exercise_4(compare: Comparer, wait_until_served: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {
        "woken at 300 and 600 ms": _budget,
        "B wakes up before A": _second_wakes_first,
        "memory at the last moment": _just_in_time,
        "the pool is closed": partial(_closed, False, 0),
        "60 return to a closed pool": partial(_closed, True, 0),
        "1000 ms are over": partial(_time_over, 1_000, 0),
        "a budget of 0 ms": partial(_time_over, 0, 0),
        "woken for nothing": _woken_for_nothing,
    }
    runs = {
        call: lambda function, run=run: run("wait_until_served", function)
        for call, run in cases.items()
    }
    readings = (
        ("budget-for-each-wait", _waiting_until_served(budget=False)),
        ("budget-for-each-wait", _waiting_until_served(budget=False, hears_time=False)),
        ("budget-for-each-wait", _waiting_until_served(waits_for_rest=False)),
        ("everybody-collects", _waiting_until_served(first_only=False)),
        ("clock-before-memory", _waiting_until_served(clock_first=True)),
        ("clock-before-memory", _waiting_until_served(last_look=False)),
        ("clock-before-memory", _waiting_until_served(last_look=False, waits_at_zero=True)),
        ("deaf-to-close", _waiting_until_served(hears_close=False)),
        ("ends-without-memory", _waiting_until_served(raises=False)),
        ("waits-without-time", _waiting_until_served(waits_at_zero=True)),
        ("gives-up-when-woken", _waiting_until_served(once=True)),
    )
    compare.runs(runs, wait_until_served, BufferPool.wait_until_served, readings)
    late: dict[str, tuple[Run, Any, dict[str, Any]]] = {
        "1000 ms are over, 250 ms late": (
            partial(_time_over, 1_000, 250),
            "A fails, 1 wait, 1000 ms",
            {"blocked-ms-measured": "A fails, 1 wait, 1250 ms"},
        ),
        "the pool is closed, and 1000 ms are over": (
            partial(_closed, False, 1_000),
            "A fails, ClientClosedError",
            {"time-before-close": "A fails, BufferExhaustedError"},
        ),
        "a budget of 1 ms": (
            partial(_time_over, 1, 0),
            "A fails, 1 wait, 1 ms",
            {"ends-a-moment-early": "A fails, 0 waits, 1 ms"},
        ),
        "B's time is over before A wakes up": (
            _second_out_of_time,
            "A waits, B fails",
            {
                "everybody-collects": "A waits, B served",
                "only-first-has-a-limit": "A waits, B waits",
            },
        ),
        "a buffer of 16 returns": (
            _gets_free_buffer,
            "A served, the same buffer",
            {"served-by-bytes-only": "A waits, another buffer"},
        ),
        "40, 20 wait, 60 return": (
            _one_after_other,
            "A served, B served",
            {"turn-asked-once": "A served, B waits"},
        ),
        "woken 20 times for nothing": (
            _woken_often,
            "A waits",
            {"gives-up-when-woken": "A fails"},
        ),
        "Ctrl-C with 4 of 20, then": (
            partial(_after_error, KeyboardInterrupt()),
            "KeyboardInterrupt, 4 available",
            {"interrupt-as-time-out": "BufferExhaustedError, 4 available"},
        ),
        "waits that the sensor knows of": (_waits_and_records, 1, {"wait-untold": 0}),
    }
    for call, (run, expected, mistakes) in late.items():
        compare.equal(
            call, partial(run, "wait_until_served", wait_until_served), expected, mistakes
        )


# ---- 7.5 a buffer in flight


def precondition_5(batch: Batch, pool: BufferPool) -> bool:
    """It is called once for a batch."""
    return not batch.is_done


def _batch(
    *, is_in_flight: bool, value: bytes = b"alice", memory_bytes: int = 128
) -> tuple[Accumulator, BufferPool, Batch]:
    """Return an accumulator with one batch in it, and its pool of two batches."""
    pool = _pool(memory_bytes, 64)
    config = complete_config({"batch.size": 64}, PRODUCER_SETTINGS)
    accumulator = Accumulator(config, pool, ManualClock())
    _append(accumulator, 0, value)
    (batch,) = accumulator.drain() if is_in_flight else accumulator.batches
    return accumulator, pool, batch


def _append(accumulator: Accumulator, partition: int, value: bytes) -> None:
    size = len(encode(KAFKA, 0, None, value))
    place = TopicPartition("orders", partition)
    accumulator.append(place, None, value, size, Waiting(SendFuture(), None))


def _released(function: Any, batch: Batch, pool: BufferPool) -> str:
    try:
        function(batch, pool)
    except ValueError as error:
        return str(error)
    return ""


def _read_late(function: Any) -> str:
    """Return what a slow leader reads in a batch that was given up, after another has begun."""
    accumulator, pool, batch = _batch(is_in_flight=True)
    buffer = batch.buffer
    complaint = _released(function, batch, pool)
    _append(accumulator, 1, b"bob")
    return complaint or _first_value(buffer)


def _memory_after(function: Any, batch: Batch, pool: BufferPool) -> str:
    complaint = _released(function, batch, pool)
    return complaint or f"{pool.available_bytes} + {pool.pooled_bytes} free"


def _memory_back(is_in_flight: bool, function: Any) -> str:
    _, pool, batch = _batch(is_in_flight=is_in_flight)
    return _memory_after(function, batch, pool)


def _is_done(is_in_flight: bool, function: Any) -> str:
    _, pool, batch = _batch(is_in_flight=is_in_flight)
    complaint = _released(function, batch, pool)
    return complaint or f"is_done={batch.is_done}"


def _after_large(function: Any) -> str:
    """Return where the memory is when one of two large batches is released."""
    _, pool, batch = _batch(is_in_flight=False, value=bytes(74), memory_bytes=300)
    pool.allocate(len(batch.buffer), 0)
    return _memory_after(function, batch, pool)


def _after_unusual(attempts: int, function: Any) -> str:
    """Return where the memory is after a batch without records, which was tried so often."""
    pool = _pool(128, 64)
    batch = Batch(_ORDERS, pool.allocate(64, 0), 0)
    batch.attempts = attempts
    return _memory_after(function, batch, pool)


def _releasing(
    *,
    returned: tuple[bool, bool] = (True, False),
    done: tuple[bool, bool] = (True, True),
    used: bool = False,
) -> Callable[..., Any]:
    """Return release with one thing done otherwise; pairs are of waiting batches, in flight."""

    def wrong(batch: Batch, pool: BufferPool) -> None:
        batch.is_done = done[batch.is_in_flight]
        if returned[batch.is_in_flight]:
            pool.deallocate(batch.buffer, batch.size_bytes if used else None)

    return wrong


def exercise_5(compare: Comparer, release_: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {
        "release(alice, in flight), then bob; the leader reads": _read_late,
        "release(a batch that waits)": partial(_memory_back, False),
        "release(a batch in flight)": partial(_memory_back, True),
        "release(a batch that waits), then": partial(_is_done, False),
        "release(a batch in flight), then": partial(_is_done, True),
    }
    readings = (
        ("return-in-flight", _releasing(returned=(True, True))),
        ("never-returned", _releasing(returned=(False, False))),
        ("returns-only-in-flight", _releasing(returned=(False, True))),
        ("never-done", _releasing(done=(False, False))),
        ("in-flight-never-done", _releasing(done=(True, False))),
        ("returns-bytes-used", _releasing(used=True)),
    )
    compare.runs(cases, release_, release, readings)
    for attempts, what in ((0, "without records"), (2, "sent in vain")):
        call = f"release(a batch {what})"
        run = partial(_after_unusual, attempts, release_)
        compare.equal(call, run, "64 + 64 free", {"asks-more-than-flight": "64 + 0 free"})
    compare.equal(
        "release(one of two batches of 100), batch.size 64",
        partial(_after_large, release_),
        "200 + 0 free",
        {
            "returns-batch-size": "no buffer of 64 bytes is out",
            "returns-twice": "300 + 0 free",
        },
    )
    for is_in_flight, what in ((False, "that waits"), (True, "in flight")):
        _, pool, batch = _batch(is_in_flight=is_in_flight)
        buffer, content, records = batch.buffer, bytes(batch.buffer), list(batch.records)
        release_(batch, pool)
        call = f"release(a batch {what})"
        flight = partial(getattr, batch, "is_in_flight")
        compare.equal(f"{call}, is_in_flight", flight, is_in_flight, {"flight-denied": False})
        is_kept = batch.buffer is buffer and buffer == content and batch.records == records
        compare.holds(is_kept, f"{call}, its data", "changed", "as before", "batch-changed")
        is_reused = pool.allocate(64, 0) is buffer
        if not is_in_flight:
            compare.holds(is_reused, f"{call}, then", "another buffer", "this one", "pools-copy")


# ---- 7.6 the chain


class _Adds(ProducerInterceptor):
    def __init__(self, letter: str) -> None:
        self._letter = letter

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=record.value + self._letter)


class _Gives(ProducerInterceptor):
    """Answers something that is no record, or raises it."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def on_send(self, record: ProducerRecord) -> Any:
        if isinstance(self._answer, BaseException):
            raise self._answer
        return self._answer


class _Inherits(_Adds):
    """Has its method from its class's class."""


class _Stands:
    """Is no subclass of ProducerInterceptor."""

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(value=record.value + "C")


class _Counts(ProducerInterceptor):
    """Adds how often it was called."""

    calls = 0

    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        self.calls += 1
        return record._replace(value=f"{record.value}{self.calls}")


class _MarkedRecord(ProducerRecord):
    """A record is a ProducerRecord, too, if its class is a subclass."""


class _Marks(ProducerInterceptor):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return _MarkedRecord(*record)


class _Readdresses(ProducerInterceptor):
    def on_send(self, record: ProducerRecord) -> ProducerRecord:
        return record._replace(topic="audit")


class _Silent:
    """An interceptor without any method."""


class _RefusedError(Exception):
    pass


_CHAIN: dict[str, Callable[[], Any]] = {
    "A": lambda: _Adds("A"),
    "B": lambda: _Adds("B"),
    "raise": lambda: _Gives(_RefusedError("out of order")),
    "AttributeError": lambda: _Gives(AttributeError("no attribute 'valeu'")),
    "None": lambda: _Gives(None),
    "'x'": lambda: _Gives("x"),
    "a look-alike": lambda: _Gives(SimpleNamespace(**ProducerRecord("orders", 0, "L")._asdict())),
    "a tuple": lambda: _Gives(("orders", 0, "T", None, None)),
    "Ctrl-C": lambda: _Gives(KeyboardInterrupt()),
    "SystemExit": lambda: _Gives(SystemExit()),
    "no method": _Silent,
    "an inherited method": lambda: _Inherits("C"),
    "a class of its own": _Stands,
    "an attribute": lambda: SimpleNamespace(on_send=_Adds("C").on_send),
    "a counter": _Counts,
    "a subclass of the record": _Marks,
    "another topic": _Readdresses,
}


def _through(links: Sequence[str], function: Any) -> tuple[Any, list[str]]:
    """Return the record that comes out of a chain, or what it raised; and what it told."""
    notes: list[str] = []
    own = type("Mine", (ProducerInterceptors,), {"on_send": function})
    chain = own([_CHAIN[link]() for link in links], on_error=notes.append)
    try:
        return chain.on_send(ProducerRecord("orders", value="")), notes
    except _RefusedError:
        return "raises", notes
    except (KeyboardInterrupt, SystemExit) as stop:
        return "Ctrl-C" if isinstance(stop, KeyboardInterrupt) else "SystemExit", notes


def _sent_through(links: Sequence[str], told: bool, function: Any) -> str:
    """Return the value that comes out of a chain, or with `told` how many failures it told."""
    answer, notes = _through(links, function)
    if told:
        return count(len(notes), "note")
    if answer in ("raises", "Ctrl-C", "SystemExit"):
        return str(answer)
    return f"{answer.value}" if isinstance(answer, ProducerRecord) else f"no record: {answer!r}"


def _chaining(
    *,
    order: int = 1,
    catches: type[BaseException] | tuple[()] = Exception,
    on_error: str = "go on",
    original: bool = False,
    odd: str = "fails",
    tells: bool = True,
) -> Callable[..., Any]:
    """Return on_send with one thing done otherwise."""

    def on_send(self: Any, record: ProducerRecord) -> Any:
        first: Any = record
        answer: Any = record
        for interceptor in self._interceptors[::order]:
            if not hasattr(interceptor, "on_send"):
                continue
            try:
                found = interceptor.on_send(first if original else answer)
                if not isinstance(found, ProducerRecord) and odd == "fails":
                    raise _RefusedError("no record")
            except catches as error:
                if tells:
                    self._note(interceptor, "on_send", str(error))
                if on_error == "stop":
                    return answer
                answer = first if on_error == "reset" else answer
            else:
                if isinstance(found, ProducerRecord) or odd == "taken":
                    answer = found
                elif tells and odd != "untold":
                    self._note(interceptor, "on_send", "no record")
        return answer

    return on_send


def exercise_6(compare: Comparer, on_send: Callable[..., Any]) -> None:
    chains = (
        ("A", "B"),
        ("B", "A", "B"),
        ("A", "raise", "B"),
        ("raise", "A"),
        ("A", "None", "B"),
        ("A", "'x'"),
        ("A", "no method", "B"),
        ("A", "Ctrl-C", "B"),
        (),
    )
    cases: dict[str, Run] = {
        f"on_send through {', '.join(links) or 'nobody'}": partial(_sent_through, links, False)
        for links in chains
    }
    cases["on_send through raise, A, None, notes"] = partial(
        _sent_through, ("raise", "A", "None"), True
    )
    cases["on_send through A, B, notes"] = partial(_sent_through, ("A", "B"), True)
    readings = (
        ("exception-stops-chain", _chaining(catches=())),
        ("exception-stops-chain", _chaining(catches=(), odd="passed over")),
        ("exception-stops-chain", _chaining(on_error="stop")),
        ("exception-stops-chain", _chaining(on_error="stop", odd="passed over")),
        ("thrower-resets-record", _chaining(on_error="reset")),
        ("thrower-resets-record", _chaining(on_error="reset", odd="passed over")),
        ("chain-reversed", _chaining(order=-1)),
        ("each-gets-original", _chaining(original=True)),
        ("takes-any-answer", _chaining(odd="taken")),
        ("thrower-untold", _chaining(tells=False)),
        ("thrower-untold", _chaining(odd="untold")),
        ("swallows-interrupt", _chaining(catches=BaseException)),
    )
    compare.runs(cases, on_send, ProducerInterceptors.on_send, readings)
    values: tuple[tuple[tuple[str, ...], str, dict[str, str]], ...] = (
        (("an inherited method",), "C", {"asks-class": ""}),
        (("a class of its own",), "C", {"asks-class": ""}),
        (("an attribute",), "C", {"asks-class": ""}),
        (("A", "SystemExit", "B"), "SystemExit", {"swallows-exit": "AB"}),
        (("a counter",), "1", {"calls-twice": "2"}),
        (("A", "a tuple"), "A", {"takes-any-answer": "T"}),
    )
    for links, expected, mistakes in values:
        call = f"on_send through {', '.join(links)}"
        compare.equal(call, partial(_sent_through, links, False, on_send), expected, mistakes)
    answer, _ = _through(("A", "a look-alike"), on_send)
    is_record = isinstance(answer, ProducerRecord)
    call = "on_send through A, a look-alike"
    compare.holds(is_record, call, "the look-alike", "A", "takes-any-answer")
    told: tuple[tuple[tuple[str, ...], str, dict[str, str]], ...] = (
        (("A", "AttributeError"), "1 note", {"hides-attribute-error": "0 notes"}),
        (("A", "no method"), "0 notes", {"missing-told": "1 note"}),
    )
    for links, expected, mistakes in told:
        call = f"on_send through {', '.join(links)}, notes"
        compare.equal(call, partial(_sent_through, links, True, on_send), expected, mistakes)
    for link in "raise", "None":
        _, notes = _through(("A", link, "B"), on_send)
        who = notes[0].partition(":")[0].removeprefix("interceptor ")
        call = f"on_send through A, {link}, B, told of"
        compare.holds(who == "_Gives", call, who, "_Gives", "tells-of-another")
    answer, notes = _through(("a subclass of the record",), on_send)
    compare.equal(
        "on_send through a subclass of the record",
        lambda: f"{type(answer).__name__}, {count(len(notes), 'note')}",
        "_MarkedRecord, 0 notes",
        {"refuses-subclass": "ProducerRecord, 1 note", "copies-record": "ProducerRecord, 0 notes"},
    )
    answer, _ = _through(("another topic",), on_send)
    call = "on_send through another topic"
    compare.equal(call, lambda: answer.topic, "audit", {"keeps-topic": "orders"})


# ---- 7.7 once more?


class _OfficeLostError(NotLeaderForPartitionError):
    """Of a class whose class's class is RetriableError."""


class _NotRetriableError(KMiniLogError):
    """Not retriable, whatever its name and its field say."""

    partition = 0


def _because(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def precondition_7(attempts: int, retries: int, error: Exception) -> bool:
    """The batch has failed at least once."""
    return attempts >= 1 and retries >= 0


_ERRORS: tuple[Exception, ...] = (
    LeaderNotAvailableError("orders", partition=0),
    NotLeaderForPartitionError("orders", partition=0, node=1),
    RequestTimedOutError("orders", partition=0, waited_ms=30_000),
    MessageTooLargeError(size_bytes=9, limit_bytes=8, setting="max.message.bytes"),
    ValueError("no such codec"),
    RetriableError(),
    _OfficeLostError("orders", partition=0, node=1),
    _NotRetriableError("broken"),
    TimeoutError("no answer"),
    ConnectionResetError("reset by peer"),
    _because(RuntimeError("gone"), RetriableError()),
)


def _sounds_retriable(error: Exception) -> bool:
    return any("Retriable" in each.__name__ for each in type(error).__mro__)


def exercise_7(compare: Comparer, may_retry_: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {}
    for retries in (3, 0, 1, 2**31 - 1):
        for error in _ERRORS:
            for attempts in sorted({1, *range(max(retries - 1, 1), retries + 3)}):
                name = type(error).__name__
                call = f"may_retry({attempts}, {retries}, {name})"

                def run(function: Any, a: int = attempts, r: int = retries, e: Any = error) -> Any:
                    return function(a, r, e)

                cases[call] = run

    def is_retriable(error: object) -> bool:
        return isinstance(error, RetriableError)

    readings = (
        ("retries-are-attempts", lambda a, r, e: a < r and is_retriable(e)),
        ("one-retry-more", lambda a, r, e: a <= r + 1 and is_retriable(e)),
        ("retries-what-stays-wrong", lambda a, r, e: a <= r),
        ("never-gives-up-sending", lambda a, r, e: is_retriable(e)),
        ("retries-nothing", lambda a, r, e: False),
        ("retries-one-kind", lambda a, r, e: a <= r and type(e) is LeaderNotAvailableError),
        ("retries-one-kind", lambda a, r, e: a <= r and isinstance(e, RequestTimedOutError)),
        ("retries-one-kind", lambda a, r, e: a <= r and type(e) is RetriableError),
        ("retries-one-kind", lambda a, r, e: a <= r and RetriableError in type(e).__bases__),
        (
            "retries-one-kind",
            lambda a, r, e: a <= r and is_retriable(e) and type(e) is not RetriableError,
        ),
        (
            "retries-errors-of-python",
            lambda a, r, e: a <= r and (is_retriable(e) or isinstance(e, OSError)),
        ),
        (
            "retries-what-stays-wrong",
            lambda a, r, e: a <= r and isinstance(e, KMiniLogError),
        ),
        (
            "retries-for-cause",
            lambda a, r, e: a <= r and (is_retriable(e) or is_retriable(e.__cause__)),
        ),
        ("asks-not-class", lambda a, r, e: a <= r and hasattr(e, "partition")),
        ("asks-not-class", lambda a, r, e: a <= r and _sounds_retriable(e)),
        ("own-limit", lambda a, r, e: a <= min(r, 10) and is_retriable(e)),
        ("retries-backwards", lambda a, r, e: a <= r and not is_retriable(e)),
    )
    compare.runs(cases, may_retry_, may_retry, readings)


# ---- 7.8 who may lead


def precondition_8(leadership: Leadership, running: Collection[int]) -> bool:
    """The in-sync replicas are never none, and in replica order; only one of them leads."""
    replicas, leader, _, in_sync = leadership
    ordered = tuple(node for node in replicas if node in in_sync)
    return in_sync == ordered != () and (leader is None or leader in in_sync)


def _settled(before: tuple[Any, ...], running: Collection[int], function: Any) -> str:
    """Return leader, epoch, and in-sync replicas."""
    after = function(Leadership(*before), running)
    if not isinstance(after, Leadership):
        return f"{type(after).__name__}, no Leadership"
    if after.replicas != before[0]:
        return f"replicas {after.replicas}"
    return f"{after.leader}, epoch {after.leader_epoch}, {after.in_sync}"


def _settling(
    *,
    unclean: bool = False,
    prefers: bool = False,
    shrinks: bool = True,
    grows: bool = False,
    empties: bool = False,
    epoch: str = "new leader",
    any_replica: bool = False,
    stays: bool = False,
    by_number: bool = False,
) -> Callable[..., Any]:
    """Return settle with one thing done otherwise."""

    def wrong(leadership: Leadership, running: Collection[int]) -> Leadership:
        replicas, before, number, in_sync = leadership
        alive = tuple(node for node in (replicas if grows else in_sync) if node in running)
        kept = (alive if alive or empties else in_sync) if shrinks else in_sync
        up = tuple(node for node in replicas if node in running)
        may = up if any_replica or (unclean and not alive) else alive
        if unclean and not alive:
            kept = may or kept
        if not may:
            gone = before if stays else None
            return Leadership(replicas, gone, number + (epoch in ("always", "no leader")), kept)
        if before in may and not prefers:
            return Leadership(replicas, before, number + (epoch == "always"), kept)
        candidates = sorted(may) if by_number else replicas
        leader = next(node for node in candidates if node in may)
        is_new = (leader != before or epoch == "elected") and epoch != "never"
        return Leadership(replicas, leader, number + (is_new or epoch == "always"), kept)

    return wrong


def _zero_falsy(leadership: Leadership, running: Collection[int]) -> Leadership:
    """Elect as if leader 0 were none."""
    return settle(leadership._replace(leader=leadership.leader or None), running)


def _zero_falsy_elected(leadership: Leadership, running: Collection[int]) -> Leadership:
    """Take 0 for nobody if it is elected."""
    after = settle(leadership, running)
    is_elected = after.leader == 0 != leadership.leader
    return leadership._replace(leader=None) if is_elected else after


def _unclean(
    leadership: Leadership, running: Collection[int], *, stays: bool = False
) -> Leadership:
    """Elect another replica if no in-sync one runs; it is in sync then, or the list stays."""
    replicas, _, epoch, in_sync = leadership
    after = settle(leadership, running)
    up = tuple(node for node in replicas if node in running)
    if after.leader is not None or not up:
        return after
    return Leadership(replicas, up[0], epoch + 1, in_sync if stays else up[:1])


def _in_turn(leadership: Leadership, running: Collection[int]) -> Leadership:
    """Elect the next replica after the leader that failed."""
    after = settle(leadership, running)
    if None in (leadership.leader, after.leader) or after.leader == leadership.leader:
        return after
    start = leadership.replicas.index(leadership.leader or 0)
    turn = leadership.replicas[start:] + leadership.replicas[:start]
    return after._replace(leader=next(node for node in turn if node in after.in_sync))


def _keeps_first(leadership: Leadership, running: Collection[int]) -> Leadership:
    after = settle(leadership, running)
    return after if after.leader is not None else after._replace(in_sync=after.in_sync[:1])


def _rejoins(leadership: Leadership, running: Collection[int]) -> Leadership:
    after = settle(leadership, running)
    up = tuple(node for node in leadership.replicas if node in running)
    return after if after.leader is None else after._replace(in_sync=up)


def exercise_8(compare: Comparer, settle_: Callable[..., Any]) -> None:
    cases: dict[str, Run] = {}
    for before, running in (
        (((0, 1, 2), 0, 4, (0, 1, 2)), (1, 2)),
        (((2, 0, 1), 2, 4, (2, 0, 1)), (0, 1)),
        (((2, 1, 0), 2, 4, (2, 1, 0)), (0, 1)),
        (((2, 1, 0), 2, 4, (2, 1, 0)), (1, 0)),
        (((0, 1, 2), 1, 4, (1, 2)), (0, 1, 2)),
        (((0, 1, 2), 1, 4, (0, 1, 2)), (0, 1, 2)),
        (((0, 1, 2), 1, 4, (1, 2)), (0, 2)),
        (((0, 1, 2), 0, 4, (0, 1, 2)), (0, 2)),
        (((0, 1, 2), 2, 4, (2,)), (0, 1)),
        (((0, 1, 2), 2, 4, (2,)), ()),
        (((0, 1, 2), None, 4, (2,)), (0, 1)),
        (((0, 1, 2), None, 4, (2,)), (0, 1, 2)),
        (((0, 1), 0, 4, (0, 1)), (0, 1)),
        (((0, 1, 2), 1, 4, (0, 1, 2)), (0, 2)),
        (((0, 1, 2), 0, 4, (0, 1)), (2,)),
        (((0, 1, 2), 1, 4, (0, 1, 2)), (7, 2, 1)),
    ):
        replicas, leader, _, in_sync = before
        all_of_them, good, up = (",".join(map(str, n)) for n in (replicas, in_sync, running))
        call = f"settle({leader} of {all_of_them}; in sync {good}; up {up or None})"
        cases[call] = partial(_settled, before, running)
    readings = (
        ("unclean-leader", _settling(unclean=True)),
        ("unclean-leader", _unclean),
        ("unclean-leader", partial(_unclean, stays=True)),
        ("leader-zero-falsy", _zero_falsy),
        ("leader-zero-falsy", _zero_falsy_elected),
        ("leader-in-turn", _in_turn),
        ("in-sync-emptied", _keeps_first),
        ("in-sync-of-all-replicas", _rejoins),
        ("elects-any-replica", _settling(any_replica=True)),
        ("leader-moves-back", _settling(prefers=True)),
        ("in-sync-stays", _settling(shrinks=False)),
        ("in-sync-of-all-replicas", _settling(grows=True)),
        ("in-sync-emptied", _settling(empties=True)),
        ("epoch-stays", _settling(epoch="never")),
        ("epoch-always", _settling(epoch="always")),
        ("epoch-always", _settling(epoch="no leader")),
        ("epoch-always", _settling(epoch="elected", prefers=True)),
        ("dead-leader-stays", _settling(stays=True)),
        ("leader-by-number", _settling(by_number=True)),
    )
    compare.runs(cases, settle_, settle, readings)
    before = (0, 1, 2), 0, 4, (0, 1, 2)
    for kind in (set, list, frozenset):
        running = kind((7, 2, 1))
        call = f"settle(0 of 0,1,2; in sync 0,1,2; up 1,2,7 as {kind.__name__})"
        run = partial(_settled, before, running, settle_)
        compare.equal(call, run, "1, epoch 5, (1, 2)")
        is_kept = running == kind((7, 2, 1))
        compare.holds(is_kept, f"{call}, then", str(running), "the same", "running-changed")


# ---- 7.9 two brokers after a crash


def _messages(folder: Path, broker: int, partition: TopicPartition) -> list[Message]:
    (log,) = (folder / "files" / "cluster" / f"broker-{broker}" / str(partition)).glob("*.log")
    return [m for _, m in scan(DOCUMENTED, log.read_bytes()) if isinstance(m, Message)]


def solve_9(folder: Path) -> dict[str, Any]:
    """Return the right constants of exercise 9, as the library reads the files."""
    moved = [
        message.offset
        for message in _messages(folder, 1, _ORDERS)
        if int.from_bytes(message.key or b"") == 0
    ]
    counts = [len(_messages(folder, broker, _PAYMENTS)) for broker in (0, 1)]
    return {"FIRST_MOVED": moved[0], "MOVED": len(moved), "LOST": counts[0] - counts[1]}


def exercise_9(compare: Comparer, answers: dict[str, Any], folder: Path) -> None:
    right = solve_9(folder)
    all_orders = len(_messages(folder, 1, _ORDERS))
    kept = len(_messages(folder, 1, _PAYMENTS))
    mistakes = {
        "MOVED": {"counts-all-after-crash": all_orders - right["FIRST_MOVED"]},
        "LOST": {"counts-what-is-kept": kept, "believes-acks-1": 0},
    }
    for name, value in right.items():
        compare.equal(name, lambda name=name: answers[name], value, mistakes.get(name))
