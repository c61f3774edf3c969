"""What tasks have written becomes part of a topic: one job, published at most once.

    .spark-staging/<job>/<attempt>/<partition>.arrow    runs: keys and values, as tasks wrote them
    .staging/<job>/<topic-partition>/                   the job's segments, under the lock
    .manifests/<job>.json                               the job is in the topic

A run is the rows of one task for one partition. Runs follow each other in the order of the tasks.
Tasks hold no lock; only the commit does. So runs wait outside of `.staging`, which every writer
clears when it takes the lock of the log dir. Under the lock the commit works as ingest does: it
makes one staged log for each partition, seals it and publishes. Runs are not segments: each run
would begin a new segment in each partition, and micro-batches are small. If a job dies, its runs
stay until a job with the same id, or any job a day later, deletes them. Source: ours.
"""

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from kminilog.bulk.staged_logs import seal
from kminilog.bulk.writing import ColumnWriter
from kminilog.job_errors import PublicationError
from kminilog.spark.ingest.job_identity import check_dataframe, cut_since
from kminilog.spark.ingest.staging import open_log
from kminilog.spark.runtime.job_writer import (
    LOCK_TIMEOUT_MS,
    RUNS_DIR,
    clear_directory,
    log_warning,
    open_writer,
    staging_of,
)
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.manifests import (
    Manifest,
    StagedPartition,
    check_job_id,
    committed_path,
    read_manifest,
)
from kminilog.storage.publish.publication import publish

_ABANDONED_SECONDS = 24 * 3600
_SUFFIX = ".arrow"
_RUN_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary())])


@dataclass
class Runs(WriterCommitMessage):
    """What one attempt of a task has written: `counts` has messages by partition."""

    job_id: str
    directory: str
    counts: dict[int, int]


def runs_path(log_dir: Path, job_id: str) -> Path:
    """Return the directory of a job's runs, which may not exist yet.

    Raises PublicationError if the id cannot be a file name.
    """
    check_job_id(job_id)
    return log_dir / RUNS_DIR / job_id


class RunWriter:
    """Writes the runs of one task attempt into a new directory.

    Raises FileNotFoundError if the directory of the job's runs is gone: the job has ended.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._writers: dict[int, Any] = {}
        self._counts: dict[int, int] = {}

    def write(self, partition: int, keys: Any, values: Any) -> None:
        """Append messages to the run of a partition."""
        if partition not in self._writers:
            path = self._directory / f"{partition}{_SUFFIX}"
            self._writers[partition] = pa.ipc.new_stream(str(path), _RUN_SCHEMA)
        batch = pa.RecordBatch.from_arrays([keys, values], schema=_RUN_SCHEMA)
        self._writers[partition].write_batch(batch)
        self._counts[partition] = self._counts.get(partition, 0) + len(keys)

    def close(self) -> Runs:
        """Finish the files, and return what they hold. They are not flushed to the disk."""
        for writer in self._writers.values():
            writer.close()
        return Runs(self._directory.parent.name, str(self._directory), self._counts)


def commit_runs(
    log_dir: Path,
    topic: str,
    job_id: str,
    runs: Sequence[Runs],
    facts: dict[str, Any],
    *,
    lock_timeout_ms: int = LOCK_TIMEOUT_MS,
) -> None:
    """Append the runs of a job to a topic, atomically and idempotently.

    If the job is committed already, nothing is written. Then its manifest must have the same
    `facts`; a fact that the manifest lacks is not compared. Waits for the lock of the log dir. A
    job without messages needs no lock and leaves no trace. Once it returns, the whole job survives
    a power failure. Raises LogDirLockedError, PublicationError and other KMiniLogErrors; the topic
    is then unchanged, unless the error says that the job is committed. If `forget_runs` deletes the
    runs while it waits, nothing is written. O(bytes).
    """
    written = [run for run in runs if run.counts]
    try:
        if written:
            with open_writer(log_dir, lock_timeout_ms=lock_timeout_ms) as writer:
                if not _is_committed(writer, job_id, {**facts, "topic": topic}):
                    _publish(writer, topic, job_id, written, facts)
    finally:
        forget_runs(log_dir, job_id)


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
    """Return whether a job is committed. The caller has the lock, so no job is pending."""
    try:
        manifest = read_manifest(committed_path(writer.path, job_id))
    except FileNotFoundError:
        return False
    for line in check_dataframe(manifest, wanted):
        log_warning(f"job {job_id}: {line}")
    for line in cut_since(writer, manifest):
        log_warning(line)
    return True


def _publish(
    writer: LogDirWriter, topic: str, job_id: str, runs: Sequence[Runs], facts: dict[str, Any]
) -> None:
    numbers = sorted({partition for run in runs for partition in run.counts})
    with staging_of(writer.path, job_id) as staging:
        staged = [_stage(writer, topic, number, staging, runs) for number in numbers]
        count = sum(partition.count for partition in staged)
        publish(writer.path, Manifest(job_id, topic, staged, {**facts, "count": count}))


def _stage(
    log_dir: LogDirWriter, name: str, partition: int, staging: Path, runs: Sequence[Runs]
) -> StagedPartition:
    """Append the runs of one partition to staged segments; hold one batch in memory at a time."""
    topic = log_dir.topic(name)
    topic_partition = topic.partition(partition)
    first_offset = log_dir.log(topic_partition).log_end_offset
    log_dir.release(topic_partition)
    target = log_dir.directory(topic_partition)
    log = open_log(staging, topic, partition, target=target, first_offset=first_offset)
    writer = ColumnWriter(log)
    for run in runs:
        if partition in run.counts:
            with pa.ipc.open_stream(str(Path(run.directory, f"{partition}{_SUFFIX}"))) as reader:
                for batch in reader:
                    writer.append(batch.column("key"), batch.column("value"))
    writer.flush()
    staged = seal(writer.reopen(), staging, first_offset)
    expected = sum(run.counts.get(partition, 0) for run in runs)
    if staged.count != expected:
        reason = f"{topic_partition} has {staged.count} staged messages, tasks wrote {expected}"
        raise PublicationError(staging.name, reason=reason)
    return staged
