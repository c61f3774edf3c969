"""The lock of a log dir: one writer at a time; readers need none.

The lock is `flock` on the file `.lock`. The operating system releases it when the process ends,
even by kill -9, so a lock is never stale. The file names the holder, for the error of the next one.

`LockWait` waits with exponential back-off and a time-out, and tells the user; a blocking `flock`
has neither a time-out nor a message. There is no queue: of several waiting writers, whichever tries
first after the release gets the lock.
"""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from kminilog.clock import Clock
from kminilog.errors import LogDirLockedError
from kminilog.storage.files import naming, open_regular

_FIRST_PAUSE_MS = 10
_LONGEST_PAUSE_MS = 1_000
_FIRST_LINE_MS = 1_000  # a shorter wait needs no line
_BETWEEN_LINES_MS = 5_000

LOCK_FILE = ".lock"


class LogDirLock:
    """Creating the object takes the lock; `release` gives it back.

    Raises LogDirLockedError if somebody holds the lock, and OSError; then nothing is held. O(1).
    """

    def __init__(self, log_dir: Path) -> None:
        path = log_dir / LOCK_FILE
        self._descriptor = open_regular(path, os.O_RDWR | os.O_CREAT)
        try:
            with naming(path):
                self._take(log_dir)
        except BaseException:
            self.release()
            raise

    def _take(self, log_dir: Path) -> None:
        if sys.platform == "emscripten":
            return  # a browser: there is no other process
        import fcntl

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 100, 0).decode("ascii", "replace").strip()
            raise LogDirLockedError(str(log_dir), holder=holder or "another process") from None
        named_bytes = 0
        with suppress(OSError):  # a full disk: then the file names nobody
            # Over the last holder, because that needs no space.
            named_bytes = os.pwrite(self._descriptor, f"process {os.getpid()}\n".encode(), 0)
        os.ftruncate(self._descriptor, named_bytes)

    def release(self) -> None:
        """Release the lock: the next writer can take it."""
        os.close(self._descriptor)


def is_abandoned(directory: Path) -> bool:
    """Tell if a directory has such a lock, and nobody holds it: its process has ended. O(1)."""
    if not (directory / LOCK_FILE).exists():
        return False
    try:
        LogDirLock(directory).release()
    except LogDirLockedError:
        return False
    return True


@dataclass(frozen=True)
class LockWait:
    """How long to wait for a lock, and by which clock; `warn` gets a line every few seconds.

    With `timeout_ms` 0 it tries once and does not wait.
    """

    timeout_ms: int
    clock: Clock
    warn: Callable[[str], None]

    def take(self, log_dir: Path) -> LogDirLock:
        """Return the lock of a log dir, taken as soon as it is free.

        Raises LogDirLockedError, which says how long it waited, if another writer still holds the
        lock at the time-out.
        """
        began_ms, pause_ms, next_line_ms = self.clock.now_ms(), _FIRST_PAUSE_MS, _FIRST_LINE_MS
        while True:
            waited_ms = self.clock.now_ms() - began_ms
            try:
                return LogDirLock(log_dir)
            except LogDirLockedError as error:
                left_ms = self.timeout_ms - waited_ms
                if left_ms <= 0:
                    raise LogDirLockedError(
                        error.path, holder=error.holder, waited_ms=waited_ms
                    ) from None
                if waited_ms >= next_line_ms:
                    self.warn(
                        f"log dir {log_dir}: {error.holder} is writing to it; "
                        f"waiting for at most {left_ms / 1000:.1f} s more"
                    )
                    next_line_ms = waited_ms + _BETWEEN_LINES_MS
            self.clock.sleep_ms(min(pause_ms, left_ms))
            pause_ms = min(2 * pause_ms, _LONGEST_PAUSE_MS)
