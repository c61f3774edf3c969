"""The plan *runs*: no shuffle. Each task writes what it reads; a second job puts the offsets in.

    task 1   records 0-4   t-0: a c    t-1: b d e        a run: an unbroken stretch of the source,
    task 2   records 5-8   t-0: f      t-1: g h i        by partition, with offsets from 0
    joined                 t-0: a c f  t-1: b d e g h i  runs in source order, offsets as they go on

A task reads neighbouring pieces of files, or neighbouring row groups. Only if Spark itself reads
Parquet files, it may give a task any pieces. Then a run ends wherever the next record is not the
next row of the same file. Joining is a second, small job: it copies the messages, and puts only
offsets into them (bulk/staged_logs.py). It reads the runs and writes a directory of its own. So it
is idempotent: Spark may repeat it, or run two attempts at once. This module does not know when this
plan is taken. Source: ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pyarrow as pa

from kminilog.bulk.partitioning import Places
from kminilog.bulk.staged_logs import RunWriter, by_partition, join_runs
from kminilog.ingest.quarantine import RejectedPart, RejectedWriter
from kminilog.ingest.screening import screen
from kminilog.ingest.staging import StagingJob, TaskResult, writing_to
from kminilog.source.description import Place
from kminilog.source.places import breaks, places_of
from kminilog.source.task_groups import task_groups
from kminilog.source.tasks import Tasks
from kminilog.storage.publish.manifests import StagedPartition

_BUFFER_ROWS = 1 << 16
_BUFFER_BYTES = 16 << 20


@dataclass
class Run:
    """An unbroken stretch of the source, from `first` to `last`, and its messages by partition."""

    first: Place
    last: Place
    partitions: list[StagedPartition]


@dataclass
class Staged:
    """What is in staging when all tasks are done, and the plan that was taken."""

    plan: str
    partitions: list[StagedPartition]
    rejected: list[RejectedPart]


class RunsWriter:
    """Writes the records of one task as runs. Memory stays at a few times the buffer."""

    def __init__(
        self, job: StagingJob, attempt: Path, rejected: RejectedWriter, *, by_rows: bool
    ) -> None:
        """Write into `attempt`. With `by_rows`, only the next row of a file continues a run."""
        self._job = job
        self._attempt = attempt
        self._rejected = rejected
        self._by_rows = by_rows
        self._choose = job.chooser()
        self._buffer: list[pa.RecordBatch] = []
        self._buffer_bytes = 0
        self._runs: list[Run] = []
        self._writer: RunWriter

    def write(self, batch: pa.RecordBatch) -> None:
        """Take records; they stay in memory until there are enough to divide by partition."""
        batch = screen(batch, self._job.topic)
        self._buffer.append(batch)
        self._buffer_bytes += batch.nbytes
        if sum(map(len, self._buffer)) >= _BUFFER_ROWS or self._buffer_bytes >= _BUFFER_BYTES:
            self._flush()

    def close(self) -> list[Run]:
        """Write the rest and return the runs. They are not flushed: joining does that."""
        if self._buffer:
            self._flush()
        self._end_run()
        return self._runs

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._buffer).combine_chunks()  # to be divided faster
        self._buffer, self._buffer_bytes = [], 0
        places = places_of(table)
        previous = self._runs[-1].last if self._runs else None
        cuts = breaks(places, previous, by_rows=self._by_rows)
        for start, stop in pairwise([*sorted({0, *cuts}), len(table)]):
            first, last = _place(places, start), _place(places, stop - 1)
            if start in cuts:
                self._end_run()
                directory = self._attempt / str(len(self._runs))
                self._writer = RunWriter(directory, self._job.topic)
                self._runs.append(Run(first, last, []))
            self._runs[-1].last = last
            self._write(self._rejected.take_out(table.slice(start, stop - start)))

    def _write(self, table: pa.Table) -> None:
        if len(table):
            chosen = self._choose(table.column("key"), places_of(table))
            self._writer.write(chosen, table.column("key"), table.column("value"))

    def _end_run(self) -> None:
        if self._runs:
            self._runs[-1].partitions = self._writer.close(Path(self._job.directory))


def in_source_order(runs: Sequence[Run]) -> list[Run] | None:
    """Return the runs in source order; None if two of them overlap."""
    ordered = sorted(runs, key=lambda run: run.first)
    overlap = any(one.last >= other.first for one, other in pairwise(ordered))
    return None if overlap else ordered


def joined(tasks: Tasks, job: StagingJob, results: Sequence[TaskResult]) -> Staged | None:
    """Return what is staged once the runs of all tasks are joined; None if two of them overlap."""
    runs = in_source_order([run for result in results for run in result.written])
    if runs is None:
        return None
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
    joined = tasks.map(groups, lambda group: [_join(job, found) for found in group])
    return [staged for group in joined for staged in group]


def _join(job: StagingJob, runs: Sequence[StagedPartition]) -> StagedPartition:
    staging = Path(job.directory)
    with writing_to(job.log_dir):
        log = job.open_log(job.new_attempt(), runs[0].partition)
        return join_runs(log, staging, runs, staging)


def _place(places: Places, slot: int) -> Place:
    return Place(*(int(part[slot]) for part in places))
