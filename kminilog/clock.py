"""Time as an argument: the interface of a clock, and a simulated clock.

Only modules of the kind `edge` read the machine's time or sleep; all others get a clock as an
argument. The machine's clock is `system.SystemClock`; `ManualClock` makes tests repeatable.
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
