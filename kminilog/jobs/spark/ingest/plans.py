"""The two ways from records to staged partitions, and which one to take.

    sorted   records as messages --> shuffle --> sort --> one task a partition gives them offsets
    runs     each task writes what it reads, once a partition; joined in a second job (runs.py)

Both plans write the same files, because the partition depends on key and place only, and places
give the order. In an empty topic these are the files of plain appends. *runs* is faster, since a
partition has more than one writer. But every run has files of its own for every partition. So
*sorted* is taken where these files would be tiny. In both plans the tasks read the files themselves
(jobs/source/columns.py). This module does not know publication. Source: ours.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from kminilog.columns.staged_logs import seal
from kminilog.columns.unnumbered import whole_messages
from kminilog.columns.writing import ColumnWriter
from kminilog.jobs.ingest.quarantine import RejectedWriter
from kminilog.jobs.ingest.runs import RunsWriter, Staged, joined, rejected_parts
from kminilog.jobs.ingest.staging import StagingJob, TaskResult, run_task
from kminilog.jobs.source.columns import Columns, columns_of
from kminilog.jobs.source.description import Source, check_options
from kminilog.jobs.source.files import SourceFile
from kminilog.jobs.source.pieces import content_digest
from kminilog.jobs.source.places import Order
from kminilog.jobs.spark.ingest.placing import place_columns, unpack
from kminilog.jobs.spark.ingest.sink import run_tasks
from kminilog.jobs.spark.runtime.tasks import SparkTasks
from kminilog.storage.publish.manifests import StagedPartition

_SMALL_RUN_BYTES = 1 << 20


def stage(
    spark: SparkSession,
    source: Source,
    files: Sequence[SourceFile],
    job: StagingJob,
    plan: str,
) -> Staged:
    """Write the records of a source in staging, and return what is there.

    `plan` is auto, sorted or runs. No record reaches the driver. Once it returns, the staged
    partitions are on the disk. Raises SourceError and Spark's exceptions.
    """
    check_options(source)
    tasks = SparkTasks(spark)
    columns: Columns[Any] = columns_of(source, files, tasks)
    groups = columns.groups(tasks.cores)
    if plan == "auto":
        plan = _suitable(len(groups), columns.size_bytes, job.topic.partitions)
    if plan == "sorted":
        order = Order.of(source, len(files))
        staged = _stage_sorted(place_columns(spark, columns, groups, order, job), job)
    else:
        staged = joined(tasks, job, tasks.map(groups, partial(_write_run, columns, job)))
    staged.content = content_digest(files, tasks)
    return staged


def _write_run(columns: Columns[Any], job: StagingJob, items: list[Any]) -> TaskResult:
    return run_task(columns.read(items), job, RunsWriter)


def _suitable(runs: int, total_bytes: int, partitions: int) -> str:
    """Return "runs" if there will be one run or files will not be tiny; else "sorted"."""
    is_fine = runs <= 1 or runs * partitions * _SMALL_RUN_BYTES <= total_bytes
    return "runs" if is_fine else "sorted"


def _stage_sorted(placed: DataFrame, job: StagingJob) -> Staged:
    results = run_tasks(
        placed.repartitionById(job.topic.partitions, sql.col("partition"))
        .sortWithinPartitions("order")
        .select("messages"),
        job,
        SortedWriter,
    )
    staged = sorted(
        (partition for result in results for partition in result.written),
        key=lambda found: found.partition,
    )
    return Staged("sorted", staged, rejected_parts(results))


class SortedWriter:
    """Writes the messages of one partition. They come in order, and get their offsets here."""

    def __init__(self, job: StagingJob, attempt: Path, rejected: RejectedWriter) -> None:
        self._job = job
        self._attempt = attempt
        self._rejected = rejected
        self._partition = -1
        self._writer: ColumnWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append messages, and put rejected records aside."""
        partition, messages, rejected = unpack(batch.column("messages"))
        if rejected:
            self._rejected.take_out(rejected)
        if partition is None:
            return
        if self._writer is None:
            self._partition = partition
            self._writer = ColumnWriter(self._job.open_log(self._attempt, partition))
        assert partition == self._partition
        for data, boundaries in whole_messages(self._job.topic.dialect, messages):
            self._writer.append_whole(data, boundaries)

    def close(self) -> list[StagedPartition]:
        """Flush the partition and return it; nothing if no message came."""
        if self._writer is None:
            return []
        self._writer.flush()
        first_offset = self._job.first_offsets[self._partition]
        return [seal(self._writer.reopen(), Path(self._job.directory), first_offset)]
