"""Ctrl-C in a command that must not stop half way: it takes effect where lines are waited for.

A KeyboardInterrupt can come between any two steps of Python, also when a batch is in the log and
the producer has not heard of it yet. So while a line is worked on, Ctrl-C is only noted. Who
presses it once more does not want to wait any longer: that is raised at once. Source: ours.
"""

import signal
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import BinaryIO, Self


class CtrlC:
    """A context manager, for the main thread, that gives lines and decides when Ctrl-C counts.

    Where Ctrl-C is ignored, as shells have it for what runs in the background, it stays ignored.
    """

    def __init__(self) -> None:
        self.is_noted = False
        """Whether Ctrl-C was pressed."""
        self._is_waiting = False

    def __enter__(self) -> Self:
        self._handler_before = signal.getsignal(signal.SIGINT)
        if callable(self._handler_before):  # else it is ignored
            signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if callable(self._handler_before):
            signal.signal(signal.SIGINT, self._handler_before)

    def lines(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the lines of a file, to its end or until Ctrl-C is pressed."""
        try:
            while True:
                self._is_waiting = True  # first: what comes after the question is raised
                if self.is_noted:
                    return
                line = file.readline()
                self._is_waiting = False
                if not line:
                    return
                yield line
        except KeyboardInterrupt:
            self.is_noted = True

    def _hear(self, number: int, frame: FrameType | None) -> None:
        if self._is_waiting or self.is_noted:
            raise KeyboardInterrupt
        self.is_noted = True
