"""BufferPool against a plain model of its queue, through any sequence of calls, waits and failures.

The model grants what can be granted from the front of its queue after each step. Both must have the
same callers waiting, the same memory free, and the very same buffers out.
"""

from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kminilog.course.replays.stepped_callers import Caller, SteppedPool
from kminilog.errors import BufferExhaustedError, ClientClosedError

POOLABLE_BYTES = 16
SIZES_BYTES = st.one_of(st.just(POOLABLE_BYTES), st.integers(0, 70))
BUDGETS_MS = st.integers(1, 20)
STEPS_BEFORE_CLOSE = 8
PLACES = st.integers(0, 10**6)


class Lent(NamedTuple):
    """A buffer that is out, and the size it was allocated with."""

    buffer: bytearray
    size_bytes: int


class Turn:
    """What the model knows of a caller that waits."""

    def __init__(self, caller: Caller, deadline_ms: int) -> None:
        self.caller = caller
        self.deadline_ms = deadline_ms
        self.collected_bytes = 0


class BufferPoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.stepped: SteppedPool | None = None

    @initialize(memory_bytes=st.integers(16, 80))
    def create(self, memory_bytes: int) -> None:
        self.stepped = SteppedPool(memory_bytes, POOLABLE_BYTES)
        self.memory_bytes = memory_bytes
        self.available_bytes = memory_bytes
        self.free: list[bytearray] = []
        self.lent: list[Lent] = []
        self.queue: list[Turn] = []
        self.steps = 0
        self.is_closed = False

    def teardown(self) -> None:
        """Give everything back: then nobody may be left waiting, and all memory must be there."""
        if self.stepped is None:
            return
        try:
            while self.lent:
                self.give_back(place=0)
                self.pool_equals_the_model()
            assert self.stepped.waiting == []
            assert self.available_bytes + len(self.free) * POOLABLE_BYTES == self.memory_bytes
        finally:
            self.stepped.end()

    # ---- the model

    def take_bytes(self, size_bytes: int) -> None:
        while self.available_bytes < size_bytes:
            self.free.pop()
            self.available_bytes += POOLABLE_BYTES
        self.available_bytes -= size_bytes

    def grant(self, caller: Caller, pooled: bytearray | None = None) -> None:
        assert caller.buffer is not None
        assert caller.size_bytes == len(caller.buffer)
        assert pooled is None or caller.buffer is pooled
        assert not any(lent.buffer is caller.buffer for lent in self.lent)
        self.lent.append(Lent(caller.buffer, caller.size_bytes))

    def serve_queue(self) -> None:
        """Grant from the front of the queue, until somebody is there who still needs something."""
        while self.queue:
            turn = self.queue[0]
            size_bytes = turn.caller.size_bytes
            if size_bytes == POOLABLE_BYTES and not turn.collected_bytes and self.free:
                self.grant(turn.caller, self.free.pop(0))
            else:
                here_bytes = self.available_bytes + len(self.free) * POOLABLE_BYTES
                found_bytes = min(size_bytes - turn.collected_bytes, here_bytes)
                self.take_bytes(found_bytes)
                turn.collected_bytes += found_bytes
                if turn.collected_bytes < size_bytes:
                    return
                self.grant(turn.caller)
            self.queue.pop(0)

    def fail(self, turn: Turn, error: type[BaseException]) -> None:
        assert type(turn.caller.error) is error
        self.queue.remove(turn)
        self.available_bytes += turn.collected_bytes

    # ---- what happens

    @rule(size_bytes=SIZES_BYTES, budget_ms=BUDGETS_MS)
    def allocate(self, size_bytes: int, budget_ms: int) -> None:
        assert self.stepped
        caller = self.stepped.allocate(size_bytes, budget_ms)
        if size_bytes > self.memory_bytes:
            assert type(caller.error) is ValueError
        elif self.is_closed:
            assert type(caller.error) is ClientClosedError
        elif size_bytes == POOLABLE_BYTES and self.free:
            self.grant(caller, self.free.pop(0))
        elif self.available_bytes + len(self.free) * POOLABLE_BYTES >= size_bytes:
            self.take_bytes(size_bytes)
            self.grant(caller)
        else:
            self.queue.append(Turn(caller, self.stepped.clock.now_ms() + budget_ms))
            self.serve_queue()

    @precondition(lambda self: self.lent)
    @rule(place=PLACES)
    def give_back(self, place: int) -> None:
        assert self.stepped
        buffer, size_bytes = self.lent.pop(place % len(self.lent))
        self.stepped.give_back(buffer)
        if size_bytes == POOLABLE_BYTES:
            self.free.append(buffer)
        else:
            self.available_bytes += size_bytes
        self.serve_queue()

    @precondition(lambda self: self.lent)
    @rule(place=PLACES)
    def give_back_a_larger_one_instead(self, place: int) -> None:
        assert self.stepped
        size_bytes = self.lent.pop(place % len(self.lent)).size_bytes
        self.stepped.pool.deallocate(bytearray(2 * size_bytes + 1), size_bytes)
        self.stepped.wake()
        self.available_bytes += size_bytes
        self.serve_queue()

    @rule(duration_ms=st.integers(1, 15))
    def let_time_pass(self, duration_ms: int) -> None:
        assert self.stepped
        self.stepped.clock.sleep_ms(duration_ms)
        for turn in list(self.queue):
            if turn in self.queue and turn.deadline_ms <= self.stepped.clock.now_ms():
                if turn.caller.is_waiting:  # else whoever failed before has woken it
                    self.stepped.go_on(turn.caller, False)
                self.fail(turn, BufferExhaustedError)
                self.serve_queue()

    @precondition(lambda self: self.queue)
    @rule(place=PLACES)
    def interrupt(self, place: int) -> None:
        assert self.stepped
        turn = self.queue[place % len(self.queue)]
        self.stepped.go_on(turn.caller, KeyboardInterrupt())
        self.fail(turn, KeyboardInterrupt)
        self.serve_queue()

    @precondition(lambda self: self.queue)
    @rule(place=PLACES)
    def wake_for_nothing(self, place: int) -> None:
        assert self.stepped
        turn = self.queue[place % len(self.queue)]
        self.stepped.go_on(turn.caller, True)
        left_ms = turn.deadline_ms - self.stepped.clock.now_ms()
        assert turn.caller.condition.timeouts_seconds[-1] == left_ms / 1000

    @precondition(lambda self: self.steps > STEPS_BEFORE_CLOSE and not self.is_closed)
    @rule()
    def close(self) -> None:
        assert self.stepped
        self.is_closed = True
        self.stepped.pool.close()
        self.stepped.wake()
        for turn in list(self.queue):
            self.fail(turn, ClientClosedError)

    # ---- what must hold

    @invariant()
    def pool_equals_the_model(self) -> None:
        if self.stepped is None:
            return
        self.steps += 1
        pool = self.stepped.pool
        pool.check()
        assert self.stepped.waiting == [turn.caller for turn in self.queue]
        assert pool.waiter_count == len(self.queue)
        assert pool.available_bytes == self.available_bytes
        assert pool.pooled_bytes == len(self.free) * POOLABLE_BYTES
        in_use_bytes = sum(lent.size_bytes for lent in self.lent)
        in_use_bytes += sum(turn.collected_bytes for turn in self.queue)
        assert pool.pooled_bytes + pool.available_bytes + in_use_bytes == self.memory_bytes


TestBufferPoolMachine = BufferPoolMachine.TestCase
