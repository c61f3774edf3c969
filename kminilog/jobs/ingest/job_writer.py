"""The writer of a log dir, as a job opens it, and the directories of a job.

    .job-staging/<any>/   while it works, without the lock of the log dir
    .staging/<job>/       the same directory while it publishes, under the lock

The writer waits for the lock of the log dir, and reports what recovery has cut. A caller without a
better place for such lines gets them in Python's log `kminilog`, as warnings. By default Python
writes these to stderr. In a data source that is the stderr of Spark's JVM. Source: ours.
"""

import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from uuid import uuid4

from kminilog.columns.segment_scan import FAST
from kminilog.errors import LogDirError, PublicationError, in_words
from kminilog.jobs.source.source_topics import check_no_brokers
from kminilog.storage.files import sync
from kminilog.storage.lock import LockWait, LogDirLock
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import is_under_way, pending_manifest, quarantine_path
from kminilog.storage.publish.publication import JOB_STAGING_DIR, staging_path
from kminilog.system import SystemClock

LOCK_TIMEOUT_MS = 60_000
_DELETING_THREADS = 16
QUARANTINE_FILE = "rejected.jsonl"
"""The quarantine file of a job in its own directory, if it has one, until the job publishes."""

log_warning: Callable[[str], None] = logging.getLogger("kminilog").warning


def open_writer(
    log_dir: Path,
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    create: bool = False,
    warn: Callable[[str], None] = log_warning,
) -> LogDirWriter:
    """Return a writer of a log dir that holds its lock; wait if another writer holds it.

    `warn` gets a line every few seconds of waiting, and a line for all that recovery has cut or
    misses. Raises LogDirLockedError if the lock is not free after `lock_timeout_ms`, LogDirError
    for a Kafka broker's directory, and what `LogDirWriter.open` raises. After a crash, recovery
    runs before this returns.
    """
    check_no_brokers(log_dir)
    wait = LockWait(lock_timeout_ms, SystemClock(), warn)
    writer = LogDirWriter.open(log_dir, create=create, scanner=FAST, lock_wait=wait)
    for warning in writer.warnings:
        warn(warning)
    return writer


@contextmanager
def job_directory(log_dir: Path, job_id: str) -> Iterator[Path]:
    """Yield a new directory, in which a job writes without the lock of the log dir; delete it then.

    The caller holds the lock when this begins, and may release it at once. The directory has a lock
    of its own: if the job dies, the next writer of the log dir deletes what it has left. Raises
    PublicationError in place of OSError.
    """
    directory = log_dir / JOB_STAGING_DIR / f"{job_id}.{uuid4().hex[:8]}"
    with ExitStack() as in_the_end:
        try:
            directory.mkdir(parents=True)
            in_the_end.callback(LogDirLock(directory).release)
            in_the_end.callback(clear_directory, directory)
            yield directory
        except OSError as error:
            raise PublicationError(job_id, reason=f"cannot write: {in_words(error)}") from error


@contextmanager
def publishing_from(log_dir: Path, job_id: str, directory: Path) -> Iterator[None]:
    """Move what a job has staged to where it publishes from, with the quarantine file beside it.

    The caller holds the lock. In the end the directory is back, and can be deleted without the
    lock: that takes long if there are many partitions. Raises PublicationError if a write fails
    before the commit point, and LogDirError if one fails after it: then the next writer completes
    the publication.
    """
    staging, quarantine = staging_path(log_dir, job_id), quarantine_path(log_dir, job_id)
    try:
        staging.parent.mkdir(exist_ok=True)
        os.replace(directory, staging)
        if (staging / QUARANTINE_FILE).exists():
            quarantine.parent.mkdir(exist_ok=True)
            os.replace(staging / QUARANTINE_FILE, quarantine)
            sync(quarantine.parent)  # `publish` syncs the log dir
        yield
    except OSError as error:
        if not is_under_way(log_dir, job_id):
            raise PublicationError(job_id, reason=f"cannot write: {in_words(error)}") from error
        reason = (
            f"job {job_id} is committed, but not all of its files are in place "
            f"({in_words(error)}); opening the log dir for writing finishes it"
        )
        raise LogDirError(str(log_dir), reason=reason) from error
    finally:
        if not is_under_way(log_dir, job_id):
            quarantine.unlink(missing_ok=True)
        if not (pending := pending_manifest(log_dir)) or pending.job_id != job_id:
            try:
                os.replace(staging, directory)
            except OSError:  # a task that goes on has made it again
                clear_directory(staging)


def clear_directory(directory: Path) -> None:
    """Delete a directory, also while task attempts that no longer count still write into it.

    The directory is renamed first. So an old attempt fails at the next file that it opens there. A
    directory that does not exist is no error, nor is a writer who deletes it at the same time.
    """
    gone = directory.with_name(f".{uuid4().hex}")
    with suppress(FileNotFoundError):
        directory.rename(gone)
        delete_all(gone.glob("*/*"))
    delete_all([gone])


def delete_all(directories: Iterable[Path]) -> None:
    """Delete directories, as far as possible.

    In threads, because a file system may wait for the disk with each one, and there may be one for
    each partition.
    """
    with ThreadPoolExecutor(_DELETING_THREADS) as pool:
        pool.map(partial(shutil.rmtree, ignore_errors=True), directories)
