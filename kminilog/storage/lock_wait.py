"""Wait for the lock of a log dir: with exponential back-off, a time-out, and lines for the user.

A blocking `flock` would have neither a time-out nor a message. The pauses between two tries grow
from 10 ms to 1 s. There is no queue: of several waiting writers, whichever tries first after the
release gets the lock. Source: ours; exponential back-off.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kminilog.clock import Clock
from kminilog.log_dir_errors import LogDirLockedError
from kminilog.storage.lock import LogDirLock

_FIRST_PAUSE_MS = 10
_LONGEST_PAUSE_MS = 1_000
_FIRST_LINE_MS = 1_000  # a shorter wait needs no line
_BETWEEN_LINES_MS = 5_000


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
