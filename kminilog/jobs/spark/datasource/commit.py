"""What tasks have written becomes part of a topic: one job, published at most once.

    .job-staging/<job>/<attempt>/    runs, as tasks wrote them (staged_logs.py)
    .manifests/<job>.json            the job is in the topic

Runs follow each other in the order of the tasks. The commit works as ingest does: it joins the runs
of each partition, and takes the lock to publish them. Spark gives a data source no session then, so
it joins in threads of its own process. If a job dies, its runs stay until a job with the same id,
or any job a day later, deletes them: no process of Spark's lives as long as the job, to hold a lock
on them. Source: ours.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from kminilog.columns.segment_scan import FAST
from kminilog.columns.staged_logs import Run
from kminilog.errors import KMiniLogError, in_words
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
from kminilog.storage.compaction import compact
from kminilog.storage.lock import LOCK_FILE
from kminilog.storage.log_dir import LogDir
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import (
    PARTITIONS,
    Manifest,
    check_job_id,
    committed_manifest,
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


def runs_path(log_dir: Path, job_id: str) -> Path:
    """Return the directory of a job's runs, which may not exist yet.

    Raises PublicationError if the id cannot be a file name.
    """
    check_job_id(job_id)
    return log_dir / JOB_STAGING_DIR / job_id


def commit_runs(
    log_dir: Path,
    topic: Topic,
    job_id: str,
    runs: Sequence[Run],
    facts: dict[str, Any],
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
    tasks: Tasks | None = None,
) -> None:
    """Append runs, which are in `runs_path`, to a topic, atomically and idempotently.

    `tasks` join them; by default threads of this process do.
    If the job is committed already, nothing is written. Then its manifest must have the same
    `facts`. Waits for the lock of the log dir once the runs are joined. A job without messages
    needs no lock and leaves no trace. Once it returns, the whole job survives a power failure.
    Raises LogDirLockedError, PublicationError and other KMiniLogErrors; the topic is then
    unchanged, unless the error says that the job is committed. If `forget_runs` deletes the runs
    while it waits, nothing is written. O(bytes).
    """
    written = [run for run in runs if run.count]
    open_locked = partial(open_writer, log_dir, lock_timeout_ms=lock_timeout_ms)
    wanted = {**facts, "topic": topic.name}
    try:
        if not written:
            with suppress(FileNotFoundError):
                check_dataframe(committed_manifest(log_dir, job_id), wanted)
        else:
            now = LogDir(log_dir).topic(topic.name)
            check_not_made_anew(job_id, topic, now)
            staging = Staging(str(log_dir), str(runs_path(log_dir, job_id)), now)
            tasks = tasks or ThreadTasks()
            staged = join(tasks, staging, written)
            count = sum(partition.count for partition in staged)
            placed = {**facts, PARTITIONS: topic.partitions, "count": count}
            job = StagedJob(
                Manifest(job_id, topic.name, staged, placed), Path(staging.directory), now
            )
            publish_staged(
                job,
                open_locked,
                lambda writer: _committed(writer, job_id, wanted),
                partial(join_again, tasks, staging),
            )
    finally:
        forget_runs(log_dir, job_id)


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


def forget_runs(log_dir: Path, job_id: str) -> None:
    """Delete the runs of a job, and those of other jobs that nobody has touched for a day.

    An attempt that still writes runs of the job fails at the next file that it opens. What has a
    lock of its own is not touched: its process lives, or the next writer deletes it.
    """
    clear_directory(runs_path(log_dir, job_id))
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
