"""The lock of a log dir: one writer at a time; readers need none.

The operating system holds the lock (flock on `.lock`) and lets go of it when the process ends, by
kill -9 too, so there is never a stale one. The file says who holds it, for the error of the second.
"""

import fcntl
import os
from pathlib import Path

from kminilog.log_dir_errors import LogDirLockedError
from kminilog.storage.regular_file import naming, open_regular

LOCK_FILE = ".lock"


class LogDirLock:
    """Held from the moment it is made until `release`.

    Raises LogDirLockedError if another is held, and OSError; then this one is not held.
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
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 100, 0).decode("ascii", "replace").strip()
            raise LogDirLockedError(str(log_dir), holder=holder or "another process") from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"process {os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let the next writer in."""
        os.close(self._descriptor)
