"""What tasks have written becomes part of a topic: one job, published at most once.

    .job-staging/<job>.<attempt>/<run>/    runs, as tasks wrote them (staged_logs.py)
    .manifests/<job>.json                  the job is in the topic

An attempt is one `save`; a micro-batch has none, and writes into `<job>/`. Each task holds a lock
on the run that it writes, and the commit one on the whole attempt: so a second `save` under the
same id sees that the job is written. The lock of a process that has died is free.

Runs follow each other in the order of the tasks. The commit works as ingest does: it joins the runs
of each partition, and takes the lock to publish them. Spark gives a data source no session then, so
it joins in threads of its own process. If a job dies, its runs stay until its next attempt is
committed, or any job is a day later: no process of Spark's lives as long as the job, to hold a lock
on all of them. Source: ours.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from kminilog.columns.segment_scan import FAST
from kminilog.columns.staged_logs import Run
from kminilog.errors import KMiniLogError, PublicationError, in_words
from kminilog.jobs.ingest.job_identity import check_dataframe, check_own_manifest, cut_since
from kminilog.jobs.ingest.job_writer import (
    LOCK_TIMEOUT_MS,
    clear_directory,
    log_warning,
    open_writer,
)
from kminilog.jobs.ingest.publishing import StagedJob, check_not_made_anew, publish_staged
from kminilog.jobs.ingest.runs import join, join_again
from kminilog.jobs.ingest.staging import Staging
from kminilog.jobs.source.tasks import Item, LocalTasks, Result, Tasks
from kminilog.storage.lock import LOCK_FILE, LogDirLock, is_abandoned
from kminilog.storage.log_dir.compaction import compact
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.log_dir.writer import LogDirWriter
from kminilog.storage.manifests import (
    PARTITIONS,
    Manifest,
    check_job_id,
    committed_manifest,
    is_under_way,
)
from kminilog.storage.publish.publication import JOB_STAGING_DIR
from kminilog.storage.topics import Topic

_ABANDONED_SECONDS = 24 * 3600


class ThreadTasks(LocalTasks):
    """Runs tasks in threads of this process. Most of a join is done while others run, too."""

    cores = os.cpu_count() or 1

    def _each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        with ThreadPoolExecutor(self.cores) as pool:
            yield from pool.map(work, items)


def runs_path(log_dir: Path, job_id: str, attempt: str = "") -> Path:
    """Return the directory of a job's runs, which may not exist yet.

    Raises PublicationError if the id cannot be a file name.
    """
    check_job_id(job_id)
    return log_dir / JOB_STAGING_DIR / (f"{job_id}.{attempt}" if attempt else job_id)


def check_not_written(log_dir: Path, job_id: str) -> None:
    """Raise PublicationError if a task, or the commit, of another attempt writes a job now."""
    if any(map(_is_at_work, _attempts(log_dir, job_id))):
        raise PublicationError(job_id, reason="another process writes this job: wait for its end")


def staged_files_gone(job_id: str) -> PublicationError:
    """Return the error for a job whose directory is gone before it is committed."""
    reason = "its staged files were deleted: the job has ended, or another process has written it"
    return PublicationError(job_id, reason=reason)


def _attempts(log_dir: Path, job_id: str) -> list[Path]:
    named = re.compile(rf"{re.escape(job_id)}\.[0-9a-f]{{32}}")
    return [p for p in (log_dir / JOB_STAGING_DIR).glob("*") if named.fullmatch(p.name)]


def _is_at_work(attempt: Path) -> bool:
    """Tell if a process holds a lock in the directory of an attempt."""
    for lock in attempt.rglob(LOCK_FILE):
        with suppress(FileNotFoundError):  # deleted meanwhile
            if not is_abandoned(lock.parent):
                return True
    return False


def commit_runs(
    log_dir: Path,
    topics: Sequence[Topic],
    job_id: str,
    runs: Sequence[Run],
    facts: dict[str, Any],
    *,
    attempt: str = "",
    allow_empty: bool = False,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    tasks: Tasks | None = None,
) -> None:
    """Append runs, which are in `runs_path`, to a topic, atomically and idempotently.

    `topics` has the topic as each task saw it. `tasks` join the runs; by default threads of this
    process do. If the job is committed already, nothing is written. Then its manifest must have the
    same `facts`. Waits for the lock of the log dir once the runs are joined. A job without messages
    needs no lock and leaves no trace, unless `allow_empty`. Once it returns, the whole job survives
    a power failure. Raises LogDirLockedError, PublicationError and other KMiniLogErrors; the topic
    is then unchanged, unless the error says that the job is committed. If `forget_runs` deletes the
    runs while it waits, nothing is written. O(bytes).
    """
    written = [run for run in runs if run.count]
    open_locked = partial(open_writer, log_dir, lock_timeout_ms=lock_timeout_ms)
    directory = runs_path(log_dir, job_id, attempt)
    with ExitStack() as in_the_end:
        in_the_end.callback(forget_runs, log_dir, job_id, attempt)
        if not (written or allow_empty or is_under_way(log_dir, job_id)):
            return
        now = LogDir(log_dir).topic(topics[0].name)
        for topic in topics:
            check_not_made_anew(job_id, topic, now)
        wanted = {**facts, "topic": now.name}
        is_staged = all(run.directory for run in written)  # else tasks found the job committed
        if is_under_way(log_dir, job_id) or not is_staged:
            with open_locked() as writer:
                if _committed(writer, job_id, wanted) is None:
                    reason = (
                        "it was committed when this write began, and is not now: write it again"
                    )
                    raise PublicationError(job_id, reason=reason)
            return
        try:
            in_the_end.callback(LogDirLock(directory).release)
        except FileNotFoundError:
            raise staged_files_gone(job_id) from None
        staging = Staging(str(log_dir), str(directory), now)
        tasks = tasks or ThreadTasks()
        staged = join(tasks, staging, written)
        count = sum(partition.count for partition in staged)
        placed = {**facts, PARTITIONS: topics[0].partitions, "count": count}
        publish_staged(
            StagedJob(Manifest(job_id, now.name, staged, placed), directory, now),
            open_locked,
            lambda writer: _committed(writer, job_id, wanted),
            partial(join_again, tasks, staging),
        )
        for left in _attempts(log_dir, job_id):
            if not _is_at_work(left):
                clear_directory(left)


def compact_after(log_dir: Path, topic: Topic, lock_timeout_ms: int) -> None:
    """Compact a topic after a micro-batch.

    The batch is committed: what fails here is a warning, and the next compaction tries it again.
    """
    try:
        with open_writer(log_dir, lock_timeout_ms=lock_timeout_ms) as writer:
            now = writer.topic(topic.name)
            warnings = compact(writer, now, str(uuid4()), scanner=FAST).warnings
    except (KMiniLogError, OSError) as error:
        warnings = [f"{topic.name} is not compacted: {in_words(error)}"]
    for warning in warnings:
        log_warning(warning)


def forget_runs(log_dir: Path, job_id: str, attempt: str = "") -> None:
    """Delete the runs of a job's attempt, and those of others that nobody has touched for a day.

    An attempt that still writes runs of the job fails at the next file that it opens. What has a
    lock of its own is not touched: its process lives, or the next writer deletes it.
    """
    clear_directory(runs_path(log_dir, job_id, attempt))
    oldest = time.time() - _ABANDONED_SECONDS
    for job in (log_dir / JOB_STAGING_DIR).glob("*"):
        if (job / LOCK_FILE).exists():
            continue
        with suppress(FileNotFoundError):  # another job has ended meanwhile
            if max(os.stat(path).st_mtime for path in (job, *job.rglob("*"))) < oldest:
                shutil.rmtree(job, ignore_errors=True)


def _committed(writer: LogDirWriter, job_id: str, wanted: dict[str, Any]) -> Manifest | None:
    """Return the manifest of a job that is committed. The caller has the lock: none is pending."""
    try:
        manifest = committed_manifest(writer.path, job_id)
    except FileNotFoundError:
        return None
    check_own_manifest(writer.path, manifest, job_id)
    check_dataframe(manifest, wanted)
    for line in cut_since(writer, manifest):
        log_warning(line)
    return manifest
