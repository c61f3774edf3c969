"""Lines of a file, a pipe or a terminal, and whether the next one is there already.

    read  -->  [ whole lines ] [ start of a line ]  -->  for line in lines

A line ends at a newline only, or at the end of the input. A file is always there. A pipe makes a
*pause* when it holds no whole line: then what was read can be sent on, before anyone waits for the
next line. If its writer never rests, it makes one when it is empty after LONGEST_SECONDS. `os.read`
takes what is there; a buffered reader could not tell what it still holds. Whoever types lines on a
terminal sees a prompt. Source: ours; Kafka: ConsoleProducer.
"""

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import UnsupportedOperation
from select import select
from typing import BinaryIO

from kminilog.cli.shared.interrupts import interruptible_wait, is_interrupted
from kminilog.cli.shared.output import prompt

PAUSE_SECONDS = 0.01
"""As long as this a pipe may be empty without a pause: its writer is about to fill it again."""
LONGEST_SECONDS = 0.2
"""After as long as this, the writer of a pipe that is empty is not given that time any more."""
_CHUNK_BYTES = 1 << 16


class InputLines(Iterator[bytes]):
    """The lines of an input without their newlines, until a signal asks to end.

    A line of more than `longest_bytes` is cut after one byte more, and is the last one: memory is
    saved, and nobody can use such a line. `before_waiting` is called before a wait for input.
    """

    def __init__(
        self,
        file: BinaryIO,
        longest_bytes: int,
        *,
        before_waiting: Callable[[], object] = lambda: None,
    ) -> None:
        self._file = file
        self._descriptor = _descriptor(file)
        self._longest_bytes = longest_bytes
        self._before_waiting = before_waiting
        self._whole: deque[bytes] = deque()
        self._start = bytearray()
        self._is_over = False
        self._first_seconds = time.monotonic()  # when the first line since the last pause came

    def __next__(self) -> bytes:
        """Return the next line; wait for it."""
        if is_interrupted():
            raise StopIteration
        while not self._whole and not self._is_over:
            self._before_waiting()
            self._read()
            self._first_seconds = time.monotonic()
        if not self._whole:
            raise StopIteration
        return self._whole.popleft()[: self._longest_bytes + 1]

    def is_pausing(self) -> bool:
        """Tell if the next line, or the end, is not there within PAUSE_SECONDS; False for files.

        LONGEST_SECONDS after the first line since the last pause: if it is not there now.
        """
        while not self._whole and not self._is_over:
            if self._descriptor is None:
                return False
            is_late = time.monotonic() - self._first_seconds >= LONGEST_SECONDS
            if not select([self._descriptor], [], [], 0 if is_late else PAUSE_SECONDS)[0]:
                return True
            self._read()  # perhaps only a part of a line
        return False

    def _read(self) -> None:
        """Take what is there; wait if nothing is."""
        try:
            with interruptible_wait():
                if self._descriptor is None:
                    data = self._file.read(_CHUNK_BYTES)
                else:
                    select([self._descriptor], [], [])  # another program may have made it not block
                    data = os.read(self._descriptor, _CHUNK_BYTES)
        except KeyboardInterrupt:
            self._is_over = True
            return
        if data:
            first, *others = data.split(b"\n")
            self._start += first
            if others:
                self._whole.append(bytes(self._start))
                *whole, rest = others
                self._whole.extend(whole)
                self._start = bytearray(rest)
            if len(self._start) > self._longest_bytes:
                self._whole.append(bytes(self._start))
                self._is_over = True
        else:
            self._is_over = True
            if self._start:
                self._whole.append(bytes(self._start))


@contextmanager
def typing(is_typed: bool) -> Iterator[Callable[[], None]]:
    """Yield what to call before a wait for a line: it shows a prompt to whoever types lines."""
    if not is_typed:
        yield lambda: None
        return
    prompt("Each line becomes a message; Ctrl-D ends.\n")
    try:
        yield lambda: prompt("> ")
    finally:
        prompt("\n")


def _descriptor(file: BinaryIO) -> int | None:
    """Return the number of a file of the system; None for a file in memory."""
    try:
        return file.fileno()
    except (UnsupportedOperation, AttributeError):
        return None
