"""Waiting without a second thread: instead of waiting for a condition, take steps until it holds.

A ManualProducer that runs out of memory must send something itself, because nothing else
brings memory back. Its pool gets this condition instead of `threading.Condition`.
"""

from collections.abc import Callable
from threading import Lock

from kminilog.clock import Clock


class SteppingCondition:
    """A condition for one thread; `step` gets the time at which the wait ends, in ms."""

    def __init__(self, lock: Lock, step: Callable[[int], object], clock: Clock) -> None:
        self._lock = lock
        self._step = step
        self._clock = clock
        self._is_notified = False

    def wait(self, timeout: float) -> bool:
        """Take steps until notified; return False if `timeout` seconds pass before that."""
        until_ms = self._clock.now_ms() + round(timeout * 1000)
        self._is_notified = False
        self._lock.release()
        try:
            while not self._is_notified and self._clock.now_ms() < until_ms:
                self._step(until_ms)
        finally:
            self._lock.acquire()
        return self._is_notified

    def notify(self) -> None:
        """End the wait after the current step."""
        self._is_notified = True
