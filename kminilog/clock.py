"""Time as an argument: the interface of a clock, and a simulated clock.

Only rooms of the kind `edge` read the machine's time or sleep; all others get a clock. The clock of
the machine is `system.SystemClock`. A `ManualClock` makes replays and tests repeatable.
"""

from typing import Protocol


class Clock(Protocol):
    """The time in milliseconds, from any fixed start, and a way to let it pass."""

    def now_ms(self) -> int:
        """Return the time; never less than before."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Return when that much time has passed."""
        ...


class ManualClock:
    """A simulated clock, which moves only when `sleep_ms` is called.

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

    def sleep_ms(self, duration_ms: int) -> None:
        """Move the time forward at once."""
        self._now_ms += max(0, duration_ms)
