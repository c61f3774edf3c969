"""The writer of a log dir, as a job gets it: it waits for the lock, and what was cut is told.

Whoever has no better place for such lines has them in the log `kminilog`, of level warning. Python
writes that to stderr unless it is told otherwise; a data source's stderr is that of Spark's JVM.
Source: ours.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from kminilog.bulk.segment_scan import examine, survey
from kminilog.storage.lock_wait import LockWait
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.system import SystemClock

LOCK_TIMEOUT_MS = 60_000
RUNS_DIR = ".spark-staging"
"""Where tasks write what waits for the lock, each job in a directory of its own."""

log_warning: Callable[[str], None] = logging.getLogger("kminilog").warning


def open_writer(
    log_dir: Path,
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    create: bool = False,
    warn: Callable[[str], None] = log_warning,
) -> LogDirWriter:
    """Open a log dir for writing; waits if another writer is there.

    `warn` takes a line every few seconds of waiting, and what recovery has cut or misses. Raises
    what `LogDirWriter.open` does, LogDirLockedError if the lock is not free after that time.
    """
    wait = LockWait(lock_timeout_ms, SystemClock(), warn)
    writer = LogDirWriter.open(
        log_dir, create=create, examine=examine, survey=survey, lock_wait=wait
    )
    for warning in writer.warnings:
        warn(warning)
    return writer
