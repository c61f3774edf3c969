"""The plan *runs*: no shuffle. Each task writes what it reads; a second job puts the offsets in.

    task 1   records 0-4   t-0: a c    t-1: b d e        a run: an unbroken stretch of the source,
    task 2   records 5-8   t-0: f      t-1: g h i        by partition, with offsets from 0
    joined                 t-0: a c f  t-1: b d e g h i  runs in source order, offsets as they go on

A task reads neighbouring pieces of files, or neighbouring row groups: one run. Joining is a second,
small job: it copies the messages, and puts only offsets into them (columns/staged_logs.py). It
reads the runs and writes a directory of its own. So it is idempotent: Spark may repeat it, or run
two attempts at once. This module does not know when this plan is taken. Source: ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from kminilog.columns.staged_logs import RunWriter, by_partition, join_runs
from kminilog.jobs.ingest.quarantine import RejectedPart, RejectedWriter, screen
from kminilog.jobs.ingest.staging import StagingJob, TaskResult, writing_to
from kminilog.jobs.source.description import Place
from kminilog.jobs.source.places import places_of
from kminilog.jobs.source.tasks import Tasks, task_groups
from kminilog.storage.publish.manifests import StagedPartition
from kminilog.storage.publish.publication import sync_staged

_BUFFER_ROWS = 1 << 16
_BUFFER_BYTES = 16 << 20


@dataclass
class Run:
    """An unbroken stretch of the source from `first` on, and its messages by partition."""

    first: Place
    partitions: list[StagedPartition]


@dataclass
class Staged:
    """What is in staging when all tasks are done, the plan that was taken, and what was read.

    `content` is the digest of the source's files (`content_digest`).
    """

    plan: str
    partitions: list[StagedPartition]
    rejected: list[RejectedPart]
    content: str = ""


class RunsWriter:
    """Writes the records of one task as a run. Memory stays at a few times the buffer."""

    def __init__(self, job: StagingJob, attempt: Path, rejected: RejectedWriter) -> None:
        self._job = job
        self._rejected = rejected
        self._choose = job.chooser()
        self._buffer: list[pa.RecordBatch] = []
        self._buffer_bytes = 0
        self._first: Place | None = None
        self._writer = RunWriter(attempt / "run", job.topic)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take records; they stay in memory until there are enough to divide by partition."""
        if not len(batch):
            return
        if self._first is None:
            self._first = Place(*(int(part[0]) for part in places_of(batch.slice(0, 1))))
        batch = screen(batch, self._job.topic)
        self._buffer.append(batch)
        self._buffer_bytes += batch.nbytes
        if sum(map(len, self._buffer)) >= _BUFFER_ROWS or self._buffer_bytes >= _BUFFER_BYTES:
            self._flush()

    def close(self) -> list[Run]:
        """Write the rest and return the run, if there is one. Joining flushes it."""
        if self._buffer:
            self._flush()
        partitions = self._writer.close(Path(self._job.directory))
        return [] if self._first is None else [Run(self._first, partitions)]

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._buffer).combine_chunks()  # to be divided faster
        self._buffer, self._buffer_bytes = [], 0
        table = self._rejected.take_out(table)
        if len(table):
            chosen = self._choose(table.column("key"), places_of(table))
            self._writer.write(chosen, table.column("key"), table.column("value"))


def joined(tasks: Tasks, job: StagingJob, results: Sequence[TaskResult]) -> Staged:
    """Return what is staged once the runs of all tasks are joined."""
    runs = sorted((run for result in results for run in result.written), key=lambda run: run.first)
    return Staged("runs", join(tasks, job, runs), rejected_parts(results))


def rejected_parts(results: Sequence[TaskResult]) -> list[RejectedPart]:
    """Return the files of rejected records of all tasks."""
    return [part for result in results for part in result.rejected]


def join(tasks: Tasks, job: StagingJob, runs: Sequence[Run]) -> list[StagedPartition]:
    """Join the runs of each partition in tasks, and return one staged partition for each.

    Once it returns, the joined files are on the disk. O(bytes). Raises what `tasks` raises.
    """
    todo = by_partition(staged for run in runs for staged in run.partitions)
    groups = task_groups(todo, lambda found: sum(run.bytes for run in found), cores=tasks.cores)
    joined = tasks.map(groups, lambda group: _join(job, group))
    return [staged for group in joined for staged in group]


def _join(job: StagingJob, group: Sequence[Sequence[StagedPartition]]) -> list[StagedPartition]:
    staging = Path(job.directory)
    with writing_to(job.log_dir):
        attempt = job.new_attempt()
        logs = (job.open_log(attempt, runs[0].partition) for runs in group)
        joined = [
            join_runs(log, staging, runs, staging) for log, runs in zip(logs, group, strict=True)
        ]
        sync_staged(staging, joined)
        return joined
