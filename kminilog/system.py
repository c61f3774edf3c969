"""The machine's clock and randomness, and threads, which others get as arguments.

Source: ours; Kafka: SystemTime, ShutdownableThread.
"""

import time
from collections.abc import Callable
from random import SystemRandom
from threading import Event, Thread, current_thread

POLL_SECONDS = 0.001
SYSTEM_CHANCE = SystemRandom()
"""Draws what nobody can repeat: the default where no seed is given."""


class WallClock:
    """Milliseconds since 1970, the same in all processes; may decrease if the clock is set back."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def now_ns(self) -> int:
        """Return the time in nanoseconds."""
        return time.time_ns()

    def sleep_ms(self, duration_ms: int) -> None:
        time.sleep(max(0, duration_ms) / 1000)


class SystemClock:
    """Starts at the time of WallClock, then runs monotonically; so processes may disagree."""

    def __init__(self) -> None:
        self._start_ns = time.time_ns() - time.monotonic_ns()

    def now_ms(self) -> int:
        return (self._start_ns + time.monotonic_ns()) // 1_000_000

    def now_ns(self) -> int:
        """Return the time in nanoseconds."""
        return self._start_ns + time.monotonic_ns()

    def sleep_ms(self, duration_ms: int) -> None:
        time.sleep(max(0, duration_ms) / 1000)


class Repeating:
    """A background thread that calls `work` again and again; leaving the `with` block stops it.

    `work` returns whether it made progress. If not, the thread pauses before the next call, for as
    many seconds as `pause` then says; `wake` ends it. An exception ends the thread, which then
    calls `on_error`; `stop` raises it.
    """

    def __init__(
        self,
        work: Callable[[], object],
        *,
        name: str,
        pause: Callable[[], float] = lambda: POLL_SECONDS,
        on_error: Callable[[], object] = lambda: None,
    ) -> None:
        self._work = work
        self._on_error = on_error
        self._pause = pause
        self._wakes = Event()
        self._is_ending = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def __enter__(self) -> "Repeating":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def wake(self) -> None:
        """End the pause before the next call of `work`."""
        self._wakes.set()

    @property
    def is_current(self) -> bool:
        """Whether the caller is this thread."""
        return current_thread() is self._thread

    def raise_error(self) -> None:
        """Raise the exception that ended the thread, if any."""
        if self._error:
            raise self._error

    def stop(self, timeout_seconds: float | None = None) -> None:
        """Stop the thread after its current call; raise the exception that ended it, if any.

        Returns after `timeout_seconds` even if that call is still running.
        """
        self._is_ending = True
        self._wakes.set()
        if not self.is_current:
            self._thread.join(timeout_seconds)
        self.raise_error()

    def _run(self) -> None:
        try:
            while not self._is_ending:
                if not self._work():
                    self._wakes.wait(self._pause())
                    self._wakes.clear()
        except BaseException as error:  # noqa: BLE001 - raised again by stop
            self._error = error
            self._on_error()
