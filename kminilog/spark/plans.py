"""The two ways from records to staged partitions, and which one to take.

    sorted   partition of each record --> shuffle --> sort --> one task a partition writes
    runs     each task writes what it reads, once a partition; joined in a second job (runs.py)

Both give the same messages the same offsets: the partition is a function of key and place, and the
order is that of places. *runs* is about twice as fast, and not limited to one writer a partition.
But every run begins new segments in every partition; where these would be tiny, and if runs
overlap, *sorted* is taken. Its files in an empty topic are those of plain appends. What can be no
message is rejected here; publication is not known. Source: ours.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Tuple  # noqa: UP035 - Spark looks for this one

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf

from kminilog.bulk.fingerprints import fingerprint_messages
from kminilog.bulk.partitioning import Places
from kminilog.bulk.writing import ColumnWriter
from kminilog.errors import PublicationError
from kminilog.format.message import encoded_bytes
from kminilog.spark.quarantine import PLACE_COLUMNS, RejectedPart, RejectedWriter
from kminilog.spark.runs import RunsWriter, in_source_order, join
from kminilog.spark.source import Source
from kminilog.spark.source_files import SourceFile
from kminilog.spark.staging import StagingJob, TaskResult, run_tasks
from kminilog.spark.task_groups import LEAST_BYTES, TASKS_PER_CORE
from kminilog.storage.publication import StagedPartition, open_staged_log, seal
from kminilog.storage.topics import Topic

PLANS = ("auto", "sorted", "runs")
_SMALL_SEGMENT_BYTES = 1 << 20
_SPARK_SPLIT_BYTES = 128 << 20


@dataclass
class Staged:
    """What is in staging when all tasks are done, and by which plan."""

    plan: str
    partitions: list[StagedPartition]
    rejected: list[RejectedPart]


def stage(
    records: DataFrame,
    source: Source,
    files: Sequence[SourceFile],
    job: StagingJob,
    plan: str,
) -> Staged:
    """Write the records of a source in staging; no record reaches the driver.

    `plan` is one of PLANS. Raises Spark's exceptions, and PublicationError if runs are wanted but
    overlap.
    """
    cores = records.sparkSession.sparkContext.defaultParallelism
    screened = records.withColumn("rejected", _rejection(job.topic))
    wanted = _suitable(source, files, job.topic.partitions, cores) if plan == "auto" else plan
    if wanted == "runs":
        staged = _stage_runs(screened, source, job)
        if staged:
            return staged
        if plan == "runs":
            reason = "parts of the source that tasks have read overlap; use --plan sorted"
            raise PublicationError(Path(job.directory).name, reason=reason)
    return _stage_sorted(screened, source, files, job)


def _suitable(source: Source, files: Sequence[SourceFile], partitions: int, cores: int) -> str:
    """Return `runs` if there will be one run, or if segments will not be tiny; else `sorted`."""
    total_bytes = sum(file.size_bytes for file in files)
    if source.format == "parquet":
        runs = len(files) + total_bytes // _SPARK_SPLIT_BYTES
    else:
        runs = min(-(-total_bytes // LEAST_BYTES), cores * TASKS_PER_CORE)
    is_fine = runs <= 1 or runs * partitions * _SMALL_SEGMENT_BYTES <= total_bytes
    return "runs" if is_fine else "sorted"


def _rejection(topic: Topic) -> Column:
    """Why a record can be no message of this topic; null if it can."""
    lengths = (sql.coalesce(sql.octet_length(name), sql.lit(0)) for name in ("key", "value"))
    size = sum(lengths, sql.lit(encoded_bytes(topic.dialect, None, None)).cast("long"))
    reason = sql.col("rejected")
    if not topic.dialect.has_value_length:
        no_null = f"the value is null, and the {topic.dialect.name} dialect has no null value"
        reason = sql.coalesce(reason, sql.when(sql.col("value").isNull(), sql.lit(no_null)))
    for setting, limit in (
        ("max.message.bytes", topic.settings.max_message_bytes),
        ("segment.bytes", topic.settings.segment_bytes),
    ):
        text = sql.concat(
            sql.lit("a message of "), size, sql.lit(f" bytes is larger than {setting} = {limit}")
        )
        reason = sql.coalesce(reason, sql.when(size > limit, text))
    return reason


def _stage_runs(records: DataFrame, source: Source, job: StagingJob) -> Staged | None:
    make_writer = partial(RunsWriter, by_rows=source.format == "parquet")
    results = run_tasks(
        records.select(*PLACE_COLUMNS, "key", "value", "rejected"), job, make_writer
    )
    runs = in_source_order([run for result in results for run in result.written])
    if runs is None:
        return None
    return Staged("runs", join(records.sparkSession, job, runs), _rejected(results))


def _stage_sorted(
    records: DataFrame, source: Source, files: Sequence[SourceFile], job: StagingJob
) -> Staged:
    partition = _partition_of(job)(*PLACE_COLUMNS, "key", sql.col("rejected").isNotNull())
    rejected = sql.concat_ws(" ", *PLACE_COLUMNS, "rejected")
    placed = (
        records.select(
            partition.alias("partition"),
            source_order(source, len(files)).alias("order"),
            "key",
            "value",
            sql.when(sql.col("rejected").isNotNull(), rejected).alias("rejected"),
        )
        .repartitionById(job.topic.partitions, sql.col("partition"))
        .sortWithinPartitions("order")
        .drop("order")
    )
    results = run_tasks(placed, job, SortedWriter)
    staged = sorted(
        (partition for result in results for partition in result.written),
        key=lambda found: found.partition,
    )
    return Staged("sorted", staged, _rejected(results))


def source_order(source: Source, files: int) -> Column:
    """The place of a record as one number: Spark sorts that by radix, three columns it compares.

    Two lines of a file differ in their position, and two rows in their row.
    """
    within = "source_position" if source.format in ("text", "json") else "source_row"
    rank = sql.shiftleft(sql.col("source_rank").cast("long"), 63 - files.bit_length())
    return rank.bitwiseOR(sql.col(within))


def _rejected(results: Sequence[TaskResult]) -> list[RejectedPart]:
    return [part for result in results for part in result.rejected]


def _partition_of(job: StagingJob) -> Callable[..., Column]:
    """The column that says where a record goes; one chooser a task. What is rejected may be
    anywhere."""

    def partitions(
        batches: Iterator[Tuple[pa.Array, pa.Array, pa.Array, pa.Array, pa.Array]],  # noqa: UP006
    ) -> Iterator[pa.Array]:
        choose = job.chooser()
        for rank, position, row, key, is_rejected in batches:
            places = Places(*(part.to_numpy().astype(np.int64) for part in (rank, position, row)))
            if not pc.any(is_rejected).as_py():
                yield pa.array(choose(key, places))
                continue
            fine = ~is_rejected.to_numpy(zero_copy_only=False)
            chosen = np.zeros(len(key), np.int32)
            chosen[fine] = choose(key.filter(pa.array(fine)), Places(*(p[fine] for p in places)))
            yield pa.array(chosen)

    return arrow_udf(partitions, "int")  # type: ignore[call-overload,no-any-return]


class SortedWriter:
    """Writes the records of one partition, which come in order; the reason why one is rejected has
    its place in front."""

    def __init__(self, job: StagingJob, attempt: Path, rejected: RejectedWriter) -> None:
        self._job = job
        self._attempt = attempt
        self._rejected = rejected
        self._partition = -1
        self._writer: ColumnWriter | None = None

    def write(self, batch: pa.RecordBatch) -> None:
        """Append records."""
        table = pa.Table.from_batches([batch])
        if table.column("rejected").null_count < len(table):
            table = self._rejected.take_out(_with_places(table))
        if not len(table):
            return
        if self._writer is None:
            self._partition = table.column("partition")[0].as_py()
            self._writer = self._open()
        assert pc.all(pc.equal(table.column("partition"), self._partition)).as_py()
        self._writer.append(table.column("key"), table.column("value"))

    def close(self) -> list[StagedPartition]:
        """Bring the partition to the disk."""
        if self._writer is None:
            return []
        self._writer.flush()
        first_offset = self._job.first_offsets[self._partition]
        staging, log = Path(self._job.directory), self._writer.reopen()
        return [seal(log, staging, first_offset, fingerprint=fingerprint_messages)]

    def _open(self) -> ColumnWriter:
        topic = self._job.topic
        log = open_staged_log(
            self._attempt,
            topic.partition(self._partition),
            topic.dialect,
            topic.settings,
            target=self._job.target(self._partition),
            first_offset=self._job.first_offsets[self._partition],
        )
        return ColumnWriter(log)


def _with_places(table: pa.Table) -> pa.Table:
    """Give rejected records their place and reason back, and the others any place."""
    told = (text and text.split(" ", 3) for text in table.column("rejected").to_pylist())
    rows = [(*map(int, parts[:3]), parts[3]) if parts else (0, 0, 0, None) for parts in told]
    table = table.drop_columns(["rejected"])
    names, kinds = [*PLACE_COLUMNS, "rejected"], [pa.int64()] * 3 + [pa.string()]
    for name, kind, column in zip(names, kinds, zip(*rows, strict=True), strict=True):
        table = table.append_column(name, pa.array(column, kind))
    return table
