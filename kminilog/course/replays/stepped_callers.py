"""Threads that wait for memory of a BufferPool, and move only when they are told to.

Each caller is a thread that runs `allocate`. Its `wait` hands over to whoever drives, who lets it
go on as woken, as out of time, or with an exception. One thread runs at a time, so every run is the
same, and nobody sleeps. Source: ours.
"""

import threading
from queue import SimpleQueue
from typing import Any

from kminilog.clock import ManualClock
from kminilog.producer.buffer_pool import BufferPool
from kminilog.producer.metrics import Metrics

GROUP = "producer-metrics"
PATIENCE_SECONDS = 60  # if a caller neither waits nor ends, the pool hangs


class SteppedCondition:
    """What a caller waits with; `timeouts_seconds` is what the pool wanted to wait each time."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock
        self.timeouts_seconds: list[float] = []
        self.is_notified = False

    def wait(self, timeout_seconds: float) -> bool:
        """Hand over, and return what the driver answers, or raise it."""
        caller = threading.current_thread()
        assert isinstance(caller, Caller)
        caller.condition = self
        self.timeouts_seconds.append(timeout_seconds)
        self.is_notified = False
        self._lock.release()
        try:
            return caller.hand_over()
        finally:
            assert self._lock.acquire(timeout=PATIENCE_SECONDS)

    def notify(self) -> None:
        """Note that the caller may go on; the driver lets it."""
        assert self._lock.locked()
        self.is_notified = True


class Caller(threading.Thread):
    """One call of `allocate`: it waits, or has a buffer, or an error."""

    def __init__(self, pool: BufferPool, size_bytes: int, max_time_to_block_ms: int) -> None:
        super().__init__(daemon=True)
        self.pool = pool
        self.size_bytes = size_bytes
        self.max_time_to_block_ms = max_time_to_block_ms
        self.condition = SteppedCondition(threading.Lock())
        self.buffer: bytearray | None = None
        self.error: BaseException | None = None
        self._stands_still: SimpleQueue[None] = SimpleQueue()
        self._answers: SimpleQueue[bool | BaseException] = SimpleQueue()

    def run(self) -> None:
        """Call `allocate`; the thread's own method."""
        try:
            self.buffer = self.pool.allocate(self.size_bytes, self.max_time_to_block_ms)
        except BaseException as error:  # noqa: BLE001 - the driver looks at it
            self.error = error
        self._stands_still.put(None)

    @property
    def is_waiting(self) -> bool:
        """Whether it has neither a buffer nor an error."""
        return self.buffer is None and self.error is None

    def begin(self) -> None:
        """Let it run until it waits or ends."""
        self.start()
        self._stands_still.get(timeout=PATIENCE_SECONDS)

    def go_on(self, answer: bool | BaseException) -> None:
        """Let `wait` return or raise, and the caller run until it waits again or ends."""
        assert self.is_waiting
        self._answers.put(answer)
        self._stands_still.get(timeout=PATIENCE_SECONDS)

    def hand_over(self) -> bool:
        """Stand still until the driver answers; called by the thread itself."""
        self._stands_still.put(None)
        answer = self._answers.get(timeout=PATIENCE_SECONDS)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class SteppedPool:
    """A pool, its clock, and its callers in the order in which they came."""

    def __init__(self, memory_bytes: int, poolable_size_bytes: int) -> None:
        self.clock = ManualClock(5_000)
        self.metrics = Metrics(self.clock)
        self.pool = BufferPool(
            memory_bytes,
            poolable_size_bytes,
            self.metrics,
            self.clock,
            GROUP,
            new_condition=SteppedCondition,
        )
        self.callers: list[Caller] = []

    def allocate(self, size_bytes: int, max_time_to_block_ms: int = 1_000) -> Caller:
        """Begin a call, and return it when it waits or has ended."""
        caller = Caller(self.pool, size_bytes, max_time_to_block_ms)
        caller.begin()
        self.callers.append(caller)
        self.wake()
        return caller

    def take(self, size_bytes: int) -> bytearray:
        """Return a buffer that is there at once."""
        return self.pool.allocate(size_bytes, 0)

    def give_back(self, *buffers: bytearray) -> None:
        """Give buffers back, one by one, and let everybody go on whom that wakes."""
        for buffer in buffers:
            self.pool.deallocate(buffer)
            self.wake()

    def go_on(self, caller: Caller, answer: bool | BaseException) -> None:
        """Let one caller go on, then all whom that wakes."""
        caller.go_on(answer)
        self.wake()

    def wake(self) -> None:
        """Let everybody who was notified go on, until nobody is."""
        while notified := [caller for caller in self.waiting if caller.condition.is_notified]:
            for caller in notified:
                caller.go_on(True)
        self.pool.check()

    @property
    def waiting(self) -> list[Caller]:
        """The callers that wait, in the order in which they came."""
        return [caller for caller in self.callers if caller.is_waiting]

    def end(self) -> None:
        """Let all threads end."""
        for caller in self.waiting:
            caller.go_on(KeyboardInterrupt())
        for caller in self.callers:
            caller.join(PATIENCE_SECONDS)
