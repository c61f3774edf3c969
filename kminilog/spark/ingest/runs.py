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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from kminilog.bulk.partitioning import Places
from kminilog.bulk.staged_logs import join_runs
from kminilog.bulk.writing import ColumnWriter
from kminilog.format.names import LOG_SUFFIX
from kminilog.spark.ingest.placing import places_of
from kminilog.spark.ingest.quarantine import RejectedWriter
from kminilog.spark.ingest.screening import screen
from kminilog.spark.ingest.staging import StagingJob, open_log, writing_to
from kminilog.spark.runtime.task_groups import task_groups
from kminilog.spark.runtime.tasks import in_tasks
from kminilog.spark.source.records import Place
from kminilog.storage.publish.manifests import StagedPartition

_BUFFER_ROWS = 1 << 16
_BUFFER_BYTES = 16 << 20


@dataclass
class Run:
    """An unbroken stretch of the source, from `first` to `last`, and its messages by partition."""

    first: Place
    last: Place
    partitions: list[StagedPartition]


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
        self._writers: dict[int, ColumnWriter] = {}

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
                self._runs.append(Run(first, last, []))
                self._directory.mkdir()
            self._runs[-1].last = last
            self._write(self._rejected.take_out(table.slice(start, stop - start)))

    def _write(self, table: pa.Table) -> None:
        if not len(table):
            return
        chosen = self._choose(table.column("key"), places_of(table))
        order = np.argsort(chosen.astype(_narrowest(chosen)), kind="stable")  # 16 bits: by radix
        divided = table.select(["key", "value"]).take(pa.array(order))
        partitions, starts = np.unique(chosen[order], return_index=True)
        borders = pairwise([*starts.tolist(), len(table)])
        for partition, (start, end) in zip(partitions.tolist(), borders, strict=True):
            piece = divided.slice(start, end - start)
            self._writer(partition).append(piece.column("key"), piece.column("value"))

    @property
    def _directory(self) -> Path:
        return self._attempt / str(len(self._runs))

    def _writer(self, partition: int) -> ColumnWriter:
        if partition not in self._writers:
            log = open_log(self._directory, self._job.topic, partition)
            self._writers[partition] = ColumnWriter(log)
        return self._writers[partition]

    def _end_run(self) -> None:
        for partition, writer in sorted(self._writers.items()):
            name = str(self._job.topic.partition(partition))
            directory = self._directory / name
            size_bytes = sum(path.stat().st_size for path in directory.glob(f"*{LOG_SUFFIX}"))
            relative = str(directory.relative_to(self._job.directory))
            staged = StagedPartition(partition, relative, 0, writer.next_offset, size_bytes, "")
            self._runs[-1].partitions.append(staged)
        self._writers = {}


def breaks(places: Places, previous: Place | None, *, by_rows: bool) -> list[int]:
    """Return which records begin a new run: those that do not follow the record before them.

    `previous` is the place of the record before the first one; without it, record 0 begins a run.

    >>> places = Places(np.array([0, 0, 0, 1]), np.zeros(4, int), np.array([5, 6, 8, 9]))
    >>> breaks(places, Place(0, 0, 4), by_rows=True)
    [2, 3]
    >>> breaks(places, None, by_rows=False)
    [0]
    """
    if previous is not None:
        places = Places(
            *(np.insert(part, 0, at) for part, at in zip(places, previous, strict=True))
        )
    rank, position, row = (np.diff(part) for part in places)
    if by_rows:
        goes_on = (rank == 0) & (row == 1)
    else:
        goes_on = (rank > 0) | (rank == 0) & ((position > 0) | (position == 0) & (row > 0))
    found: list[int] = (np.flatnonzero(~goes_on) + (previous is None)).tolist()
    return [0, *found] if previous is None else found


def in_source_order(runs: Sequence[Run]) -> list[Run] | None:
    """Return the runs in source order; None if two of them overlap."""
    ordered = sorted(runs, key=lambda run: run.first)
    overlap = any(one.last >= other.first for one, other in pairwise(ordered))
    return None if overlap else ordered


def join(spark: SparkSession, job: StagingJob, runs: Sequence[Run]) -> list[StagedPartition]:
    """Join the runs of each partition in tasks, and return one staged partition for each.

    Once it returns, the joined files are on the disk. O(bytes). Raises Spark's exceptions.
    """
    of_partition: dict[int, list[StagedPartition]] = {}
    for run in runs:
        for staged in run.partitions:
            of_partition.setdefault(staged.partition, []).append(staged)
    todo = [found for _, found in sorted(of_partition.items())]
    cores = spark.sparkContext.defaultParallelism
    groups = task_groups(todo, lambda found: sum(run.bytes for run in found), cores=cores)
    joined = in_tasks(spark, groups, lambda group: [_join(job, found) for found in group])
    return [staged for group in joined for staged in group]


def _join(job: StagingJob, runs: Sequence[StagedPartition]) -> StagedPartition:
    staging = Path(job.directory)
    with writing_to(job.log_dir):
        log = job.open_log(job.new_attempt(), runs[0].partition)
        return join_runs(log, staging, runs, staging)


def _place(places: Places, slot: int) -> Place:
    return Place(*(int(part[slot]) for part in places))


def _narrowest(numbers: NDArray[np.int32]) -> type[np.generic]:
    return np.uint16 if int(numbers.max()) < 1 << 16 else np.uint32
