"""The lock of a log dir: one writer at a time; readers need none.

The lock is `flock` on the file `.lock`. The operating system releases it when the process ends,
even by kill -9, so a lock is never stale. The file names the holder, for the error of the next one.
"""

import os
import sys
from pathlib import Path

from kminilog.log_dir_errors import LogDirLockedError
from kminilog.storage.regular_file import naming, open_regular

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
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"process {os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the lock: the next writer can take it."""
        os.close(self._descriptor)
