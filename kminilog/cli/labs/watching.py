"""`lab watch`: one exercise is checked after each save, until a key asks for the next one.

It looks at the file ten times a second. Without a terminal there are no keys: it goes on until the
exercise passes, then to the next. Source: ours; staying until a key is pressed is what learners of
other courses asked for.
"""

import select
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from kminilog.cli.interrupts import check_interrupt, interruptible_wait
from kminilog.cli.steps.keys import keys_of_terminal

_LOOK_SECONDS = 0.1


class Watched:
    """A file, and whether it has changed since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = self._state()

    def has_changed(self) -> bool:
        """Tell if the file is another one since the last call."""
        before, self._seen = self._seen, self._state()
        return before != self._seen

    def _state(self) -> tuple[int, int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size, status.st_ino


def wait_for_save_or_key(watched: Watched, read_key: Callable[[], str] | None) -> str | None:
    """Return the key that was pressed, or None when the file was saved."""
    while True:
        check_interrupt()
        if watched.has_changed():
            return None
        with interruptible_wait():
            if read_key is None:
                time.sleep(_LOOK_SECONDS)
            elif select.select([sys.stdin], [], [], _LOOK_SECONDS)[0]:
                return read_key()


def keys_if_terminal() -> AbstractContextManager[Callable[[], str] | None]:
    """Return a context that gives a function that reads keys, or None without a terminal."""
    return keys_of_terminal() if sys.stdin.isatty() else nullcontext(None)
