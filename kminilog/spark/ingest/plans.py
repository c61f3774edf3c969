"""The two ways from records to staged partitions, and which one to take.

    sorted   records as messages --> shuffle --> sort --> one task a partition gives them offsets
    runs     each task writes what it reads, once a partition; joined in a second job (runs.py)

Both plans write the same files, because the partition depends on key and place only, and places
give the order. In an empty topic these are the files of plain appends. *runs* is faster, since a
partition has more than one writer. But every run has files of its own for every partition. So
*sorted* is taken where these files would be tiny, or where runs overlap. In both plans Spark reads
the records, or the tasks themselves do if no SQL is needed (source/columns.py). This module
does not know publication. Source: ours.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from kminilog.bulk.staged_logs import seal
from kminilog.bulk.unnumbered import whole_messages
from kminilog.bulk.writing import ColumnWriter
from kminilog.ingest.quarantine import RejectedWriter
from kminilog.ingest.runs import RunsWriter, Staged, joined, rejected_parts
from kminilog.ingest.staging import StagingJob, TaskResult, run_task
from kminilog.job_errors import PublicationError
from kminilog.source.columns import Columns, columns_of
from kminilog.source.description import Source, check_options
from kminilog.source.files import SourceFile
from kminilog.source.places import RECORD_COLUMNS
from kminilog.source.task_groups import LEAST_BYTES, TASKS_PER_CORE
from kminilog.spark.ingest.placing import place_columns, place_records, unpack
from kminilog.spark.ingest.sink import run_tasks
from kminilog.spark.runtime.tasks import SparkTasks
from kminilog.spark.source.records import read_source
from kminilog.storage.publish.manifests import StagedPartition

_SMALL_RUN_BYTES = 1 << 20
_SPARK_SPLIT_BYTES = 128 << 20


def stage(
    spark: SparkSession,
    source: Source,
    files: Sequence[SourceFile],
    job: StagingJob,
    plan: str,
) -> Staged:
    """Write the records of a source in staging, and return what is there.

    `plan` is auto, sorted or runs; with auto, runs that overlap cost a second pass, by *sorted*. No
    record reaches the driver. Once it returns, the staged partitions are on the disk. Raises
    SourceError, Spark's exceptions, and PublicationError if `plan` is runs but runs overlap.
    """
    check_options(source)
    cores = spark.sparkContext.defaultParallelism
    columns: Columns[Any] | None = columns_of(source, files, SparkTasks(spark))
    if columns is not None:
        runs, total_bytes = len(columns.groups(cores)), columns.size_bytes
        to_runs = partial(_columns_to_runs, spark, columns, job)
        placed = partial(place_columns, spark, columns, source, len(files), job)
    else:
        records = read_source(spark, source, files)
        by_spark = source.format == "parquet"
        total_bytes = sum(file.size_bytes for file in files)
        runs = _expected_runs(total_bytes, len(files), cores, by_spark=by_spark)
        to_runs = partial(_records_to_runs, records, job, by_rows=by_spark)
        placed = partial(place_records, records, source, len(files), job)
    wanted = _suitable(runs, total_bytes, job.topic.partitions) if plan == "auto" else plan
    if wanted == "runs":
        staged = joined(SparkTasks(spark), job, to_runs())
        if staged:
            return staged
        if plan == "runs":
            reason = "parts of the source that tasks have read overlap; use --plan sorted"
            raise PublicationError(Path(job.directory).name, reason=reason)
    return _stage_sorted(placed(), job)


def _expected_runs(total_bytes: int, files: int, cores: int, *, by_spark: bool) -> int:
    """Return about how many runs there will be.

    `by_spark` tells that Spark divides the files among the tasks, as with Parquet that it reads.
    """
    if by_spark:
        return files + total_bytes // _SPARK_SPLIT_BYTES
    return max(min(total_bytes // LEAST_BYTES, cores * TASKS_PER_CORE), 1)


def _suitable(runs: int, total_bytes: int, partitions: int) -> str:
    """Return "runs" if there will be one run or files will not be tiny; else "sorted"."""
    is_fine = runs <= 1 or runs * partitions * _SMALL_RUN_BYTES <= total_bytes
    return "runs" if is_fine else "sorted"


def _records_to_runs(records: DataFrame, job: StagingJob, *, by_rows: bool) -> list[TaskResult]:
    return run_tasks(records.select(*RECORD_COLUMNS), job, partial(RunsWriter, by_rows=by_rows))


def _columns_to_runs(
    spark: SparkSession, columns: Columns[Any], job: StagingJob
) -> list[TaskResult]:
    groups = columns.groups(spark.sparkContext.defaultParallelism)

    def write(items: list[Any]) -> TaskResult:
        return run_task(columns.read(items), job, partial(RunsWriter, by_rows=False))

    return SparkTasks(spark).map(groups, write)


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
