"""The writer of a log dir, as a job gets it, and the staging directory of a job under its lock.

The writer waits for the lock, and tells what recovery has cut. Whoever has no better place for such
lines has them in the log `kminilog`, of level warning. Python writes that to stderr unless it is
told otherwise; a data source's stderr is that of Spark's JVM. Source: ours.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

from kminilog.bulk.segment_scan import FAST
from kminilog.errors import LogDirError
from kminilog.job_errors import PublicationError
from kminilog.storage.lock_wait import LockWait
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import is_under_way, pending_manifest, quarantine_path
from kminilog.storage.publish.publication import staging_path
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
    writer = LogDirWriter.open(log_dir, create=create, scans=FAST, lock_wait=wait)
    for warning in writer.warnings:
        warn(warning)
    return writer


@contextmanager
def staging_of(log_dir: Path, job_id: str) -> Iterator[Path]:
    """Yield an empty staging directory for a job, to write and publish in; the caller has the lock.

    Nothing stays behind unless the job is committed. Raises PublicationError if a write fails, and
    LogDirError if it fails behind the commit point.
    """
    staging = staging_path(log_dir, job_id)
    clear_directory(staging)  # a killed job's tasks may have gone on
    try:
        staging.mkdir(parents=True)
        yield staging
    except OSError as error:
        if not is_under_way(log_dir, job_id):
            raise PublicationError(job_id, reason=f"cannot write: {error}") from error
        reason = (
            f"job {job_id} is committed, but not all of its files are in place ({error}); "
            "opening the log dir for writing finishes it"
        )
        raise LogDirError(str(log_dir), reason=reason) from error
    finally:
        if not is_under_way(log_dir, job_id):
            quarantine_path(log_dir, job_id).unlink(missing_ok=True)
        if not (pending := pending_manifest(log_dir)) or pending.job_id != job_id:
            clear_directory(staging)


def clear_directory(directory: Path) -> None:
    """Delete a directory, also while attempts that do not count write there."""
    gone = directory.with_name(f".{uuid4().hex}")
    with suppress(FileNotFoundError):
        directory.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
