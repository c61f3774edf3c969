"""The plan *runs*: no shuffle. Each task writes what it reads; a second job puts the offsets in.

    task 1   records 0-4   t-0: a c    t-1: b d e        a run: an unbroken stretch of the source,
    task 2   records 5-8   t-0: f      t-1: g h i        by partition, without offsets
    joined                 t-0: a c f  t-1: b d e g h i  runs in source order, offsets as they go on

A task reads neighbouring pieces of files, or neighbouring row groups: one run, in two files
(columns/staged_logs.py). Joining is a second, small job: each task copies the messages of some
partitions, and puts only offsets into them. It writes a directory of its own. So it is idempotent:
Spark may repeat it, or run two attempts at once. This module does not know when this plan is taken.
Source: ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from kminilog.columns.staged_logs import (
    Run,
    RunsReader,
    RunWriter,
    bytes_by_partition,
    join_logs,
    join_runs,
)
from kminilog.jobs.ingest.job_writer import delete_all
from kminilog.jobs.ingest.quarantine import RejectedPart, RejectedWriter, screen
from kminilog.jobs.ingest.staging import Staging, StagingJob, TaskResult, writing_to
from kminilog.jobs.source.description import Place
from kminilog.jobs.source.places import places_of
from kminilog.jobs.source.tasks import Tasks, task_groups
from kminilog.storage.manifests import StagedPartition
from kminilog.storage.publish.publication import sync_staged


class FoundRun(NamedTuple):
    """The run of an unbroken stretch of the source from `first` on."""

    first: Place
    run: Run


@dataclass
class Staged:
    """What is in staging when all tasks are done, the plan that was taken and why, and what was
    read.

    `content` is the digest of the source's files (`content_digest`), `left_out` what is no message
    (`jobs.source.columns`).
    """

    plan: str
    partitions: list[StagedPartition]
    rejected: list[RejectedPart]
    content: str = ""
    reason: str = ""
    left_out: list[dict[str, Any]] = field(default_factory=list)


class RunsWriter:
    """Writes the records of one task as a run. Memory stays at a few times its buffer."""

    def __init__(self, job: StagingJob, attempt: Path, rejected: RejectedWriter) -> None:
        self._job = job
        self._rejected = rejected
        self._choose = job.chooser()
        self._first: Place | None = None
        self._writer = RunWriter(attempt / "run", job.topic)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take records, choose their partitions and write them."""
        if not len(batch):
            return
        if self._first is None:
            self._first = Place(*(int(part[0]) for part in places_of(batch.slice(0, 1))))
        fine = self._rejected.take_out(pa.Table.from_batches([screen(batch, self._job.topic)]))
        if len(fine):
            key, value = fine.column("key"), fine.column("value")
            self._writer.write(self._choose(key, places_of(fine)), key, value)

    def close(self) -> list[FoundRun]:
        """Write the rest and return the run, if there is one. Joining flushes it."""
        run = self._writer.close(Path(self._job.directory))
        return [] if self._first is None else [FoundRun(self._first, run)]


def joined(tasks: Tasks, job: StagingJob, results: Sequence[TaskResult]) -> Staged:
    """Return what is staged once the runs of all tasks are joined."""
    found = sorted((run for result in results for run in result.written), key=lambda run: run.first)
    return Staged("runs", join(tasks, job, [run for _, run in found]), rejected_parts(results))


def rejected_parts(results: Sequence[TaskResult]) -> list[RejectedPart]:
    """Return the files of rejected records of all tasks."""
    return [part for result in results for part in result.rejected]


def join(tasks: Tasks, job: Staging, runs: Sequence[Run]) -> list[StagedPartition]:
    """Join the runs of each partition in tasks, and return one staged partition for each.

    Their offsets go on where the partitions end when a task begins. Once it returns, the joined
    files are on the disk, and the runs are gone. O(bytes). Raises PublicationError if a run
    is not what its task wrote, and what `tasks` raises.
    """
    sizes = bytes_by_partition(Path(job.directory), runs, job.topic.partitions).tolist()
    todo = [partition for partition, size_bytes in enumerate(sizes) if size_bytes]
    groups = task_groups(todo, sizes.__getitem__, cores=tasks.cores)
    joined = tasks.map(
        groups,
        lambda partitions: _join(job, runs, partitions),
        step="joining",
        size_bytes=sum(sizes),
    )
    delete_all(Path(job.directory, run.directory) for run in runs)
    return [staged for group in joined for staged in group]


def _join(job: Staging, runs: Sequence[Run], partitions: Sequence[int]) -> list[StagedPartition]:
    staging, attempt = Path(job.directory), job.new_attempt()
    with writing_to(job.log_dir):
        reader, ends = RunsReader(staging, runs, partitions), job.ends()
        logs = (job.open_log(attempt, p, ends.get(p, 0)) for p in partitions)
        joined = [join_runs(log, staging, reader) for log in logs]
        sync_staged(staging, joined)
        return joined


class Moved(NamedTuple):
    """A staged partition whose messages must get other offsets, from `first_offset` on."""

    staged: StagedPartition
    first_offset: int


def join_again(tasks: Tasks, job: Staging, moved: Sequence[Moved]) -> list[StagedPartition]:
    """Give staged partitions other offsets, in tasks, and return them; delete the old ones.

    Once it returns, they are on the disk. O(bytes). Raises what `tasks` raises.
    """
    groups = task_groups(moved, lambda one: one.staged.bytes, cores=tasks.cores)
    joined = tasks.map(
        groups,
        lambda group: _join_again(job, group),
        step="giving other offsets, because others have written",
        size_bytes=sum(one.staged.bytes for one in moved),
    )
    delete_all(Path(job.directory, one.staged.directory) for one in moved)
    return [staged for group in joined for staged in group]


def _join_again(job: Staging, moved: Sequence[Moved]) -> list[StagedPartition]:
    staging, attempt = Path(job.directory), job.new_attempt()
    with writing_to(job.log_dir):
        joined = []
        for one in moved:
            log = job.open_log(attempt, one.staged.partition, one.first_offset)
            joined.append(join_logs(log, staging, [one.staged]))
        sync_staged(staging, joined)
        return joined
