"""The memory of one producer: bounded, reused, and given to the call that has waited longest.

    memory = free list (buffers of the poolable size, made already)
           + available (not made into buffers yet)
           + in use    (lent out, or collected by the first call in the queue)

A request is granted at once if enough memory is free. A request of the poolable size gets a buffer
of the free list. Any other gets new memory, for which buffers of the free list are given up as far
as needed. If too little is free, the call waits in a queue. The first call in the queue collects
memory as it comes back; if it fails (time-out, Ctrl-C, close), it gives that memory back. A call
that leaves the queue wakes the next one.

Invariants
    B1  free list + available + in use = memory
    B2  only the first in the queue has collected anything, and never all that it needs
    B3  a buffer is in the free list once at most, and has the poolable size

Overtaking: the queue is fair among waiting calls. As in Kafka, a new call that can be granted at
once does not join the queue. It takes memory that the first waiting call has not collected yet.

The pool cannot see who still reads a buffer. The buffer of a batch in flight must not be given
back, even if the batch has failed. The next batch would overwrite it, and wrong messages would be
sent (KAFKA-19012). The owner of the batch, the accumulator, ensures this.

How to wait is an argument: `new_condition` makes one condition for each waiting call, around the
pool's lock. Source: S2 1; Kafka: BufferPool. Differs: the documents' code loses what a failed
call had collected, and wakes nobody. In Kafka the first call in the queue collects only after it
was woken once, and a buffer that is given back twice is not noticed (docs/differences.md).
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import Any, Protocol

from kminilog.clock import Clock
from kminilog.errors import BufferExhaustedError, ClientClosedError

WAIT_SENSOR = "bufferpool-wait-time"
WAIT_RATIO = "bufferpool-wait-ratio"


class PoolMetrics(Protocol):
    """What the pool needs of a producer's metrics: a sensor of how long calls wait."""

    def sensor(self, name: str) -> Any: ...
    def add_ratio(self, name: str, group: str, sensor: Any) -> None: ...


class WaitCondition(Protocol):
    """What the pool needs of a condition; `threading.Condition` is one.

    The caller of both methods holds the lock.
    """

    def wait(self, timeout_seconds: float, /) -> bool:
        """Release the lock, wait, and take the lock again, also if an exception passes through.

        Return False if the time is over, and True if something may have changed. The pool then
        looks again. Instead of waiting, this may do the work that brings memory back.
        """
        ...

    def notify(self) -> None:
        """Wake the call that waits; do nothing if none does."""
        ...


class Waiter:
    """One waiting call: what it needs, what it has collected, and how to wake it."""

    def __init__(self, condition: WaitCondition, needed_bytes: int) -> None:
        self.condition = condition
        self.needed_bytes = needed_bytes
        self.collected_bytes = 0
        self.buffer: bytearray | None = None

    @property
    def is_served(self) -> bool:
        """Whether it has a buffer of the free list, or all the bytes for a new one."""
        return self.buffer is not None or self.collected_bytes == self.needed_bytes


class BufferPool:
    """At most `memory_bytes` of buffers; those of `poolable_size_bytes` are kept for reuse.

    >>> from kminilog.clock import ManualClock
    >>> from kminilog.producer.metrics import Metrics
    >>> clock = ManualClock()
    >>> pool = BufferPool(64, 16, Metrics(clock), clock, "producer-metrics")
    >>> buffer = pool.allocate(16, max_time_to_block_ms=100)
    >>> len(buffer), pool.available_bytes, pool.pooled_bytes
    (16, 48, 0)
    >>> pool.deallocate(buffer)
    >>> pool.available_bytes, pool.pooled_bytes
    (48, 16)
    """

    def __init__(
        self,
        memory_bytes: int,
        poolable_size_bytes: int,
        metrics: PoolMetrics,
        clock: Clock,
        metric_group: str,
        *,
        new_condition: Callable[[threading.Lock], WaitCondition] = threading.Condition,
    ) -> None:
        if memory_bytes < 0 or poolable_size_bytes < 0:
            raise ValueError(f"negative size: {min(memory_bytes, poolable_size_bytes)} bytes")
        self.memory_bytes = memory_bytes
        self.poolable_size_bytes = poolable_size_bytes
        self._clock = clock
        self._wait_time = metrics.sensor(WAIT_SENSOR)
        metrics.add_ratio(WAIT_RATIO, metric_group, self._wait_time)
        self._new_condition = new_condition
        self._lock = threading.Lock()
        self._available_bytes = memory_bytes
        self._free: OrderedDict[int, bytearray] = OrderedDict()  # by id, oldest first
        self._lent: Counter[int] = Counter()  # how many buffers of each size are out
        self._waiters: deque[Waiter] = deque()
        self._is_closed = False

    # ---- what is there; other threads may change it at once

    @property
    def available_bytes(self) -> int:
        """Memory that is neither in use nor in the free list."""
        return self._available_bytes

    @property
    def pooled_bytes(self) -> int:
        """Memory in the free list."""
        return len(self._free) * self.poolable_size_bytes

    @property
    def waiter_count(self) -> int:
        """How many calls of `allocate` wait."""
        return len(self._waiters)

    # ---- taking and giving back

    def allocate(self, size_bytes: int, max_time_to_block_ms: int) -> bytearray:
        """Return a buffer of that many bytes, with any content; wait for memory if necessary.

        `max_time_to_block_ms` is the budget for all the waiting of this call; with 0 it does not
        wait. The sensor gets the time of waiting, also on failure.

        Raises ValueError for a negative size and for more than the whole memory,
        BufferExhaustedError when the time is over, and ClientClosedError if the pool is closed
        before or during waiting. An exception of the condition passes through. A call that raises
        keeps no memory.

        >>> from kminilog.clock import ManualClock
        >>> from kminilog.producer.metrics import Metrics
        >>> clock = ManualClock()
        >>> pool = BufferPool(64, 16, Metrics(clock), clock, "producer-metrics")
        >>> pool.allocate(65, max_time_to_block_ms=0)
        Traceback (most recent call last):
        ...
        ValueError: Attempt to allocate 65 bytes, but there is a hard limit of 64 on memory \
allocations.
        """
        if size_bytes < 0:
            raise ValueError(f"negative size: {size_bytes} bytes")
        if size_bytes > self.memory_bytes:
            raise ValueError(
                f"Attempt to allocate {size_bytes} bytes, but there is a hard limit of "
                f"{self.memory_bytes} on memory allocations."
            )
        buffer = None
        with self._lock:
            self._refuse_if_closed()
            if size_bytes == self.poolable_size_bytes and self._free:
                buffer = self._take_pooled()
            elif self._available_bytes + self.pooled_bytes >= size_bytes:
                self.take_bytes(size_bytes)
            else:
                buffer = self.wait_in_queue(size_bytes, max_time_to_block_ms)
            self._lent[size_bytes] += 1
        if buffer is not None:
            return buffer
        try:
            return bytearray(size_bytes)  # outside of the lock: filling it with zeros takes time
        except BaseException:  # the machine has no memory left, or Ctrl-C
            self._give_back(size_bytes)
            raise

    def deallocate(self, buffer: bytearray, size_bytes: int | None = None) -> None:
        """Take a buffer back, and wake the first waiting call; a closed pool takes buffers too.

        `size_bytes` is the size that was allocated; the default is the size of `buffer` now. If the
        two differ, the buffer has grown or was replaced, and is not reused.

        Raises ValueError for a buffer that was given back already, and for a size of which no
        buffer is lent out.
        """
        size_bytes = len(buffer) if size_bytes is None else size_bytes
        is_poolable = size_bytes == len(buffer) == self.poolable_size_bytes
        self._give_back(size_bytes, buffer if is_poolable else None)

    def close(self) -> None:
        """Refuse to allocate from now on; waiting calls fail with ClientClosedError."""
        with self._lock:
            self._is_closed = True
            for waiter in self._waiters:
                waiter.condition.notify()

    def check(self) -> None:
        """Assert the invariants; O(buffers in the free list)."""
        with self._lock:
            collected = [waiter.collected_bytes for waiter in self._waiters]
            lent_bytes = sum(size_bytes * count for size_bytes, count in self._lent.items())
            in_use_bytes = lent_bytes + sum(collected)
            assert self.pooled_bytes + self._available_bytes + in_use_bytes == self.memory_bytes
            assert self._available_bytes >= 0
            assert not any(collected[1:])
            assert not any(waiter.is_served for waiter in self._waiters)
            for key, buffer in self._free.items():
                assert key == id(buffer)
                assert len(buffer) == self.poolable_size_bytes

    # ---- steps, called with the lock held, except `_give_back`; those without `_` are labs' tasks

    def wait_in_queue(self, size_bytes: int, max_time_to_block_ms: int) -> bytearray | None:
        """Wait for memory after all who wait already, with the lock held.

        Returns a buffer of the free list, or None if the bytes for a new one are taken. A call that
        fails, for whatever reason, gives back what it had collected. Who leaves wakes the first.
        """
        waiter = Waiter(self._new_condition(self._lock), size_bytes)
        self._waiters.append(waiter)
        try:
            self.wait_until_served(waiter, max_time_to_block_ms)
        except BaseException:  # Ctrl-C too
            self._available_bytes += waiter.collected_bytes
            raise
        finally:
            self._waiters.remove(waiter)
            self._wake_first()
        return waiter.buffer

    def wait_until_served(self, waiter: Waiter, max_time_to_block_ms: int) -> None:
        """Wait until a call of the queue has what it needs, with the lock held.

        Only the first of the queue collects. The time is the budget for all the waiting together.
        Raises BufferExhaustedError when it is over, and ClientClosedError if the pool is closed.
        """
        deadline_ms = self._clock.now_ms() + max_time_to_block_ms
        is_time_over = False
        while True:
            self._refuse_if_closed()
            if self._waiters[0] is waiter:
                self._collect(waiter)
            if waiter.is_served:
                return
            # Look at the clock last, so that memory that came back just in time is taken.
            remaining_ms = deadline_ms - self._clock.now_ms()
            if is_time_over or remaining_ms <= 0:
                raise BufferExhaustedError(blocked_ms=max_time_to_block_ms)
            is_time_over = not self._wait_once(waiter.condition, remaining_ms)

    def _wait_once(self, condition: WaitCondition, timeout_ms: int) -> bool:
        began_ns = self._clock.now_ns()
        try:
            return condition.wait(min(timeout_ms / 1000, threading.TIMEOUT_MAX))
        finally:
            now_ns = self._clock.now_ns()
            self._wait_time.record(now_ns - began_ns, now_ns)

    def _collect(self, waiter: Waiter) -> None:
        is_poolable = waiter.needed_bytes == self.poolable_size_bytes
        if is_poolable and not waiter.collected_bytes and self._free:
            waiter.buffer = self._take_pooled()
        else:
            missing_bytes = waiter.needed_bytes - waiter.collected_bytes
            found_bytes = min(missing_bytes, self._available_bytes + self.pooled_bytes)
            self.take_bytes(found_bytes)
            waiter.collected_bytes += found_bytes

    def _take_pooled(self) -> bytearray:
        return self._free.popitem(last=False)[1]

    def take_bytes(self, size_bytes: int) -> None:
        """Take bytes of the available memory, with the lock held.

        If it is not enough, buffers of the free list are given up first, as few as needed. The
        caller has seen that both together are enough. O(buffers given up).
        """
        while self._available_bytes < size_bytes:
            self._free.popitem()  # the newest, as in Kafka; `_take_pooled` lends the oldest
            self._available_bytes += self.poolable_size_bytes
        self._available_bytes -= size_bytes

    def _give_back(self, size_bytes: int, reusable: bytearray | None = None) -> None:
        with self._lock:
            if reusable is not None and id(reusable) in self._free:
                raise ValueError("the buffer was given back already")
            if not self._lent[size_bytes]:
                raise ValueError(f"no buffer of {size_bytes} bytes is out")
            self._lent[size_bytes] -= 1
            if reusable is None:
                self._available_bytes += size_bytes
            else:
                self._free[id(reusable)] = reusable
            self._wake_first()

    def _wake_first(self) -> None:
        if self._waiters and (self._available_bytes or self._free):
            self._waiters[0].condition.notify()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise ClientClosedError("producer")
