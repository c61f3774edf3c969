"""What tasks have written becomes part of a topic: one job, published at most once.

    .spark-staging/<job>/<attempt>/<topic-partition>/   runs, as tasks wrote them (staged_logs.py)
    .staging/<job>/<topic-partition>/                   the job's segments, under the lock
    .manifests/<job>.json                               the job is in the topic

Runs follow each other in the order of the tasks. Tasks hold no lock; only the commit does. So runs
wait outside of `.staging`, which every writer clears when it takes the lock of the log dir. Under
the lock the commit works as ingest does: it joins the runs of each partition and publishes. If a
job dies, its runs stay until a job with the same id, or any job a day later, deletes them.
Source: ours.
"""

import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import WriterCommitMessage

from kminilog.columns.segment_scan import FAST
from kminilog.columns.staged_logs import by_partition, join_runs
from kminilog.errors import KMiniLogError, PublicationError, in_words
from kminilog.jobs.ingest.job_identity import check_dataframe, check_own_manifest, cut_since
from kminilog.jobs.ingest.job_writer import (
    LOCK_TIMEOUT_MS,
    RUNS_DIR,
    clear_directory,
    log_warning,
    open_writer,
    staging_of,
)
from kminilog.jobs.spark.datasource.options import WriteOptions
from kminilog.storage.compaction import compact
from kminilog.storage.log_dir_writer import LogDirWriter, log_end_offsets
from kminilog.storage.publish.manifests import (
    PARTITIONS,
    Manifest,
    StagedPartition,
    check_job_id,
    committed_manifest,
)
from kminilog.storage.publish.publication import open_staged_log, publish, sync_staged
from kminilog.storage.topics import Topic

_ABANDONED_SECONDS = 24 * 3600


@dataclass
class Runs(WriterCommitMessage):
    """What one attempt of a task has written, by partition; the paths begin in `runs_path`."""

    job_id: str
    partitions: list[StagedPartition]


def runs_path(log_dir: Path, job_id: str) -> Path:
    """Return the directory of a job's runs, which may not exist yet.

    Raises PublicationError if the id cannot be a file name.
    """
    check_job_id(job_id)
    return log_dir / RUNS_DIR / job_id


def commit_runs(
    log_dir: Path,
    topic: Topic,
    job_id: str,
    runs: Sequence[Runs],
    facts: dict[str, Any],
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
) -> None:
    """Append the runs of a job to a topic, atomically and idempotently.

    If the job is committed already, nothing is written. Then its manifest must have the same
    `facts`. Waits for the lock of the log dir. A job without messages needs no lock and leaves no
    trace. Once it returns, the whole job survives a power failure. Raises LogDirLockedError,
    PublicationError and other KMiniLogErrors; the topic is then unchanged, unless the error says
    that the job is committed. If `forget_runs` deletes the runs while it waits, nothing is written.
    O(bytes).
    """
    written = by_partition(part for run in runs for part in run.partitions)
    try:
        if written:
            with open_writer(log_dir, lock_timeout_ms=lock_timeout_ms) as writer:
                if not _is_committed(writer, job_id, {**facts, "topic": topic.name}):
                    _publish(writer, topic, job_id, written, facts)
    finally:
        forget_runs(log_dir, job_id)


def compact_after(options: WriteOptions, topic: Topic, batch_id: int) -> None:
    """Compact a topic after each so-many-th micro-batch of a stream, as the options say.

    The batch is committed: what fails here is a warning, and the next compaction tries it again.
    """
    if not options.compact_every or (batch_id + 1) % options.compact_every:
        return
    log_dir = Path(options.log_dir)
    try:
        with open_writer(log_dir, lock_timeout_ms=options.lock_timeout_ms) as writer:
            now = writer.topic(topic.name)
            warnings = compact(writer, now, str(uuid4()), scanner=FAST).warnings
    except (KMiniLogError, OSError) as error:
        warnings = [f"{topic.name} is not compacted: {in_words(error)}"]
    for warning in warnings:
        log_warning(warning)


def forget_runs(log_dir: Path, job_id: str) -> None:
    """Delete the runs of a job, and those of other jobs that nobody has touched for a day.

    An attempt that still writes runs of the job fails at the next file that it opens.
    """
    clear_directory(runs_path(log_dir, job_id))
    oldest = time.time() - _ABANDONED_SECONDS
    for job in (log_dir / RUNS_DIR).glob("*"):
        with suppress(FileNotFoundError):  # another job has ended meanwhile
            if max(os.stat(path).st_mtime for path in (job, *job.rglob("*"))) < oldest:
                shutil.rmtree(job, ignore_errors=True)


def _is_committed(writer: LogDirWriter, job_id: str, wanted: dict[str, Any]) -> bool:
    """Tell if a job is committed. The caller has the lock, so no job is pending."""
    try:
        manifest = committed_manifest(writer.path, job_id)
    except FileNotFoundError:
        return False
    check_own_manifest(writer.path, manifest, job_id)
    check_dataframe(manifest, wanted)
    for line in cut_since(writer, manifest):
        log_warning(line)
    return True


def _publish(
    writer: LogDirWriter,
    topic: Topic,
    job_id: str,
    written: list[list[StagedPartition]],
    facts: dict[str, Any],
) -> None:
    now = writer.topic(topic.name)
    if now.dialect != topic.dialect:
        reason = f"{topic.name} was made anew, as {now.dialect.name}, while it was written"
        raise PublicationError(job_id, reason=reason)
    with staging_of(writer.path, job_id) as staging:
        ends = log_end_offsets(writer, now, [runs[0].partition for runs in written])
        staged = [_join(writer, now, staging, runs, ends) for runs in written]
        sync_staged(staging, staged)
        count = sum(partition.count for partition in staged)
        placed = {**facts, PARTITIONS: topic.partitions, "count": count}
        publish(writer.path, Manifest(job_id, topic.name, staged, placed), writer.ends)


def _join(
    writer: LogDirWriter,
    topic: Topic,
    staging: Path,
    runs: list[StagedPartition],
    ends: Mapping[int, int],
) -> StagedPartition:
    number = runs[0].partition
    target = writer.directory(topic.partition(number))
    log = open_staged_log(staging, topic, number, target=target, first_offset=ends[number])
    return join_runs(log, staging, runs, runs_path(writer.path, staging.name))
