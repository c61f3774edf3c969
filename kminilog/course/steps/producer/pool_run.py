"""A plan of callers that take memory of a BufferPool and give it back, and what became of each act.

    Take("a", 64)      a asks for 64 bytes, and may wait some time
    GiveBack("a")      a gives its buffer back
    TimePasses(300)    time passes; who has waited too long gives up

The pool is the real one, with callers that move one at a time (`course.replays.stepped_callers`).
Source: ours.
"""

from typing import NamedTuple

from kminilog.course.replays.stepped_callers import Caller, SteppedPool
from kminilog.errors import BufferExhaustedError


class Take(NamedTuple):
    """Somebody asks for a buffer of this size, and waits at most so long."""

    who: str
    size_bytes: int
    wait_ms: int = 1_000


class GiveBack(NamedTuple):
    """Somebody gives back the buffer that it has."""

    who: str


class TimePasses(NamedTuple):
    """Time passes."""

    duration_ms: int


Act = Take | GiveBack | TimePasses


class Ledger(NamedTuple):
    """Where the memory is, in bytes; all of them together are the total.

    `other_bytes` is what the first waiting call has collected, and what is lent to no caller of the
    plan: nothing, if nobody waits.
    """

    pooled_bytes: int
    available_bytes: int
    lent_bytes: int
    other_bytes: int


class Outcome(NamedTuple):
    """What an act did: the ledgers before and after, who was served after waiting, who gave up.

    `is_reused` says that a taken buffer had been another caller's before.
    """

    act: Act
    before: Ledger
    after: Ledger
    served: tuple[str, ...]
    gave_up: tuple[str, ...]
    is_reused: bool
    error: str


class PoolRun:
    """A pool, and who has which buffer of it or waits for one; `end` it."""

    def __init__(self, total_bytes: int, batch_bytes: int) -> None:
        self.stepped = SteppedPool(total_bytes, batch_bytes)
        self.holders: dict[str, Caller] = {}
        """Who has a buffer."""
        self.queue: dict[str, Caller] = {}
        """Who waits, first come first."""
        self.deadlines_ms: dict[str, int] = {}
        self._seen: list[bytearray] = []
        self.began_ms = self.stepped.clock.now_ms()

    @property
    def now_ms(self) -> int:
        """The time since the beginning."""
        return self.stepped.clock.now_ms() - self.began_ms

    def ledger(self) -> Ledger:
        """Return where the memory is now."""
        pool = self.stepped.pool
        lent = sum(caller.size_bytes for caller in self.holders.values())
        rest = pool.memory_bytes - pool.pooled_bytes - pool.available_bytes - lent
        return Ledger(pool.pooled_bytes, pool.available_bytes, lent, rest)

    def number_of(self, buffer: bytearray) -> int:
        """Return the number of a buffer, from 1 on, in the order in which they were first lent."""
        for number, seen in enumerate(self._seen, start=1):
            if seen is buffer:
                return number
        self._seen.append(buffer)
        return len(self._seen)

    def do(self, act: Act) -> Outcome:
        """Do one act, and all that follows from it.

        Raises ValueError if somebody takes who has or wants a buffer, or gives back without one.
        """
        before, waiting, known = self.ledger(), dict(self.queue), len(self._seen)
        error = ""
        if isinstance(act, Take):
            error = self._take(act)
        elif isinstance(act, GiveBack):
            if act.who not in self.holders:
                raise ValueError(f"{act.who} has no buffer to give back")
            buffer = self.holders.pop(act.who).buffer
            assert buffer is not None
            self.stepped.give_back(buffer)
        else:
            self._let_pass(act.duration_ms)
        self._move()
        served = tuple(who for who in waiting if who in self.holders)
        gave_up = tuple(who for who in waiting if who not in self.holders | self.queue)
        taken = self.holders.get(act.who) if isinstance(act, Take) else None
        is_reused = bool(taken and taken.buffer is not None) and len(self._seen) == known
        return Outcome(act, before, self.ledger(), served, gave_up, is_reused, error)

    def end(self) -> None:
        """Let all callers end."""
        self.stepped.end()

    def _take(self, act: Take) -> str:
        if act.who in self.holders or act.who in self.queue:
            raise ValueError(f"{act.who} has a buffer, or waits for one")
        caller = self.stepped.allocate(act.size_bytes, act.wait_ms)
        if caller.error is not None:
            return str(caller.error)
        self.queue[act.who] = caller
        self.deadlines_ms[act.who] = self.now_ms + act.wait_ms
        return ""

    def _let_pass(self, duration_ms: int) -> None:
        self.stepped.clock.sleep_ms(duration_ms)
        for who, caller in list(self.queue.items()):
            if self.deadlines_ms[who] <= self.now_ms and caller.is_waiting:
                self.stepped.go_on(caller, False)
                assert isinstance(caller.error, BufferExhaustedError)

    def _move(self) -> None:
        """Note who of the queue has a buffer now, or has given up."""
        for who, caller in list(self.queue.items()):
            if caller.buffer is not None:
                self.number_of(caller.buffer)
                self.holders[who] = caller
            if not caller.is_waiting:
                del self.queue[who]
