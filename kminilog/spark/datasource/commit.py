"""What tasks have written becomes part of a topic: one job, published once.

    .spark-staging/<job>/<attempt>/<partition>.arrow    runs: keys and values, as tasks wrote them
    .staging/<job>/<topic-partition>/                   the job's segments, under the lock
    .manifests/<job>.json                               the job is in the topic

A run is the rows of one task for one partition. Runs follow each other in the order of the tasks.
They wait outside of `.staging`, since whoever takes the lock of the log dir meanwhile sweeps that:
tasks hold no lock, only the commit does. Runs of a job that died wait until a job of the same id,
or any job a day later, clears them away. Nothing here knows Spark. Source: ours.
"""

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa

from kminilog.bulk.fingerprints import fingerprint_messages
from kminilog.bulk.writing import ColumnWriter
from kminilog.errors import LogDirError
from kminilog.format.names import TopicPartition
from kminilog.job_errors import PublicationError
from kminilog.spark.ingest.job_identity import check_dataframe
from kminilog.spark.runtime.job_writer import LOCK_TIMEOUT_MS, RUNS_DIR, log_warning, open_writer
from kminilog.storage.log_dir_writer import LogDirWriter
from kminilog.storage.publish.publication import (
    Manifest,
    StagedPartition,
    committed_manifests,
    is_under_way,
    open_staged_log,
    publish,
    seal,
    staging_path,
)
from kminilog.storage.topics import Topic

_ABANDONED_SECONDS = 24 * 3600
_SUFFIX = ".arrow"
RUN_SCHEMA = pa.schema([("key", pa.binary()), ("value", pa.binary())])


@dataclass(frozen=True)
class Runs:
    """What one attempt of a task has written: number of messages by partition."""

    directory: str
    counts: dict[int, int]


def runs_path(log_dir: Path, job_id: str) -> Path:
    """Return where the runs of a job go, which may not be there yet.

    Raises PublicationError if the id is no file name.
    """
    staging_path(log_dir, job_id)
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
            self._writers[partition] = pa.ipc.new_stream(str(path), RUN_SCHEMA)
        batch = pa.RecordBatch.from_arrays([keys, values], schema=RUN_SCHEMA)
        self._writers[partition].write_batch(batch)
        self._counts[partition] = self._counts.get(partition, 0) + len(keys)

    def close(self) -> Runs:
        """Finish the files."""
        for writer in self._writers.values():
            writer.close()
        return Runs(str(self._directory), self._counts)


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
                if not _is_committed(writer.path, job_id, {**facts, "topic": topic}):
                    _publish(writer, topic, job_id, written, facts)
    finally:
        forget_runs(log_dir, job_id)


def forget_runs(log_dir: Path, job_id: str) -> None:
    """Delete the runs of a job, and those that were abandoned a day ago.

    An attempt that has not heard of the end of its job fails at the next file that it begins.
    """
    runs = runs_path(log_dir, job_id)
    gone = runs.with_name(f".{uuid4().hex}")
    with suppress(FileNotFoundError):
        runs.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    oldest = time.time() - _ABANDONED_SECONDS
    for job in (log_dir / RUNS_DIR).glob("*"):
        with suppress(FileNotFoundError):  # another job has ended meanwhile
            if max(os.stat(path).st_mtime for path in (job, *job.rglob("*"))) < oldest:
                shutil.rmtree(job, ignore_errors=True)


def _is_committed(log_dir: Path, job_id: str, wanted: dict[str, Any]) -> bool:
    if not is_under_way(log_dir, job_id):
        return False
    for manifest in committed_manifests(log_dir):
        if manifest.job_id == job_id:
            for line in check_dataframe(manifest, wanted):
                log_warning(f"job {job_id}: {line}")
    return True


def _publish(
    writer: LogDirWriter, name: str, job_id: str, runs: Sequence[Runs], facts: dict[str, Any]
) -> None:
    topic = writer.topic(name)
    staging = staging_path(writer.path, job_id)
    staging.mkdir(parents=True)
    try:
        numbers = sorted({partition for run in runs for partition in run.counts})
        staged = [
            _stage(writer, topic, topic.partition(number), staging, runs) for number in numbers
        ]
        count = sum(partition.count for partition in staged)
        publish(writer.path, Manifest(job_id, name, staged, {**facts, "count": count}))
    except OSError as error:
        if not is_under_way(writer.path, job_id):
            raise PublicationError(job_id, reason=f"cannot write: {error}") from error
        reason = (
            f"job {job_id} is committed, but not all of its files are in place ({error}); "
            "opening the log dir for writing finishes it"
        )
        raise LogDirError(str(writer.path), reason=reason) from error
    finally:
        if not is_under_way(writer.path, job_id):
            shutil.rmtree(staging, ignore_errors=True)


def _stage(
    log_dir: LogDirWriter,
    topic: Topic,
    topic_partition: TopicPartition,
    staging: Path,
    runs: Sequence[Runs],
) -> StagedPartition:
    first_offset = log_dir.log(topic_partition).log_end_offset
    log_dir.release(topic_partition)
    log = open_staged_log(
        staging,
        topic_partition,
        topic.dialect,
        topic.settings,
        target=log_dir.directory(topic_partition),
        first_offset=first_offset,
    )
    writer = ColumnWriter(log)
    for run in runs:
        if topic_partition.partition in run.counts:
            append_run(writer, Path(run.directory, f"{topic_partition.partition}{_SUFFIX}"))
    writer.flush()
    staged = seal(writer.reopen(), staging, first_offset, fingerprint=fingerprint_messages)
    expected = sum(run.counts.get(topic_partition.partition, 0) for run in runs)
    if staged.count != expected:
        reason = f"{topic_partition} has {staged.count} staged messages, tasks wrote {expected}"
        raise PublicationError(staging.name, reason=reason)
    return staged


def append_run(writer: ColumnWriter, path: Path) -> None:
    """Append the messages of a run to staged segments; memory stays at one batch."""
    with pa.ipc.open_stream(str(path)) as reader:
        for batch in reader:
            writer.append(batch.column("key"), batch.column("value"))
