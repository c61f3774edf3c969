"""Time and randomness as arguments: the interfaces of a clock and of a random generator.

Only modules of the kind `edge` (docs/architecture.md) read the machine's time, sleep or draw
numbers; all others get a clock and a generator. The machine's clock is `system.SystemClock`;
`ManualClock` makes tests repeatable. `random.Random(seed)` is a `Chance`: with the same seed, every
run draws the same.
"""

from typing import Protocol


class Clock(Protocol):
    """Milliseconds since a fixed moment, and a way to wait."""

    def now_ms(self) -> int:
        """Return the time. Callers expect that it never decreases."""
        ...

    def now_ns(self) -> int:
        """Return the same time in nanoseconds, for what takes less than a millisecond."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Return after `duration_ms`; at once if that is not positive."""
        ...


class ManualClock:
    """A simulated clock: only `sleep_ms` moves it.

    >>> clock = ManualClock(1_000)
    >>> clock.sleep_ms(250)
    >>> clock.now_ms()
    1250
    """

    def __init__(self, now_ms: int = 0) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Return the time."""
        return self._now_ms

    def now_ns(self) -> int:
        """Return the time in nanoseconds: whole milliseconds here."""
        return self._now_ms * 1_000_000

    def sleep_ms(self, duration_ms: int) -> None:
        """Move the time forward, and return without waiting."""
        self._now_ms += max(0, duration_ms)


class Chance(Protocol):
    """A random generator."""

    def randrange(self, stop: int, /) -> int:
        """Return a number from 0 to `stop` - 1; all are equally likely."""
        ...

    def getrandbits(self, count: int, /) -> int:
        """Return a number of `count` random bits: 0 to 2**count - 1."""
        ...
