"""What tasks have written becomes part of a topic: one job, published once.

    .spark-staging/<job>/<attempt>/<partition>.arrow    runs: keys and values, as tasks wrote them
    .staging/<job>/<topic-partition>/                   the job's segments, under the lock
    .manifests/<job>.json                               the job is in the topic

A run is the rows of one task for one partition. Runs follow each other in the order of the tasks.
They wait outside of `.staging`, since whoever takes the lock of the log dir meanwhile sweeps that:
tasks hold no lock, only the commit does. Under the lock all is done as in ingest: one staged log a
partition, sealed, and published. Runs are no segments, since a run of ingest begins new ones in
each partition, and micro-batches are small. Runs of a job that died wait until a job of the same
id, or any job a day later, clears them away. Source: ours.
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

from kminilog.job_errors import PublicationError
from kminilog.spark.ingest.job_identity import check_dataframe, cut_since
from kminilog.spark.ingest.staging import open_columns, seal_columns
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
    """What one attempt of a task of a job has written: number of messages by partition."""

    job_id: str
    directory: str
    counts: dict[int, int]


def runs_path(log_dir: Path, job_id: str) -> Path:
    """Return where the runs of a job go, which may not be there yet.

    Raises PublicationError if the id is no file name.
    """
    check_job_id(job_id)
    return log_dir / RUNS_DIR / job_id


class RunWriter:
    """One attempt of a task, in a new directory; `close` says what it has written.

    Raises FileNotFoundError if the runs of the job have been deleted: it has ended without this.
    """

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._writers: dict[int, Any] = {}
        self._counts: dict[int, int] = {}

    def write(self, partition: int, keys: Any, values: Any) -> None:
        """Add messages behind those that the partition has already."""
        if partition not in self._writers:
            path = self._directory / f"{partition}{_SUFFIX}"
            self._writers[partition] = pa.ipc.new_stream(str(path), _RUN_SCHEMA)
        batch = pa.RecordBatch.from_arrays([keys, values], schema=_RUN_SCHEMA)
        self._writers[partition].write_batch(batch)
        self._counts[partition] = self._counts.get(partition, 0) + len(keys)

    def close(self) -> Runs:
        """Finish the files."""
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
    """Append the runs of a job to a topic; nothing is done if the job is committed already.

    Then its manifest must have the same `facts`; what it does not say is not compared.
    Waits for the lock of the log dir. A job without messages needs none and leaves no trace. Once
    it returns, all of it survives a power failure. Raises KMiniLogErrors, LogDirLockedError and
    PublicationError among them; the topic is then unchanged, unless an error says that the job is
    committed. If the runs are forgotten while it waits, nothing is written.
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
    """Delete the runs of a job, and those that were abandoned a day ago.

    An attempt that has not heard of the end of its job fails at the next file that it begins.
    """
    clear_directory(runs_path(log_dir, job_id))
    oldest = time.time() - _ABANDONED_SECONDS
    for job in (log_dir / RUNS_DIR).glob("*"):
        with suppress(FileNotFoundError):  # another job has ended meanwhile
            if max(os.stat(path).st_mtime for path in (job, *job.rglob("*"))) < oldest:
                shutil.rmtree(job, ignore_errors=True)


def _is_committed(writer: LogDirWriter, job_id: str, wanted: dict[str, Any]) -> bool:
    """Tell if a job is committed; its writer has the lock, so that no job is pending."""
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
    """Append the runs of one partition to staged segments; memory stays at one batch."""
    topic = log_dir.topic(name)
    topic_partition = topic.partition(partition)
    first_offset = log_dir.log(topic_partition).log_end_offset
    log_dir.release(topic_partition)
    target = log_dir.directory(topic_partition)
    writer = open_columns(staging, topic, partition, target=target, first_offset=first_offset)
    for run in runs:
        if partition in run.counts:
            with pa.ipc.open_stream(str(Path(run.directory, f"{partition}{_SUFFIX}"))) as reader:
                for batch in reader:
                    writer.append(batch.column("key"), batch.column("value"))
    staged = seal_columns(writer, staging, first_offset)
    expected = sum(run.counts.get(partition, 0) for run in runs)
    if staged.count != expected:
        reason = f"{topic_partition} has {staged.count} staged messages, tasks wrote {expected}"
        raise PublicationError(staging.name, reason=reason)
    return staged
