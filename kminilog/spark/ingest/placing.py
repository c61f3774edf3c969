"""Records as messages with their partition, and their place as one number: ready for the shuffle.

    partition   by key and place (bulk/partitioning.py); 0 if the record is rejected
    order       the place as one number, because Spark sorts one number by radix, but compares the
                three columns of a place
    messages    one message, or several that follow each other in source and partition. They are
                whole, but each has its partition where its offset will stand (bulk/unnumbered.py).
                A rejected record has a number below 0 there, then place, reason, key and value

So the JVM shuffles and sorts byte strings, and the task that gets them only has to write them. If
Spark has read the records, each becomes one row. Tasks that read the columns themselves
(source/columns.py) read stretches of the source that no other task reads a part of. There a
row has about as many bytes as lie between two index entries, so the JVM has few rows to move.
Source: ours.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, Tuple  # noqa: UP035 - Spark looks for Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from kminilog.bulk.partitioning import Choose
from kminilog.bulk.unnumbered import MARK_BYTES, encode_unnumbered, join_groups, marks_of
from kminilog.ingest.screening import screen
from kminilog.ingest.staging import StagingJob
from kminilog.source.columns import Columns
from kminilog.source.description import Source
from kminilog.source.places import RECORD_COLUMNS, Order, places_of
from kminilog.spark.runtime.tasks import freeze_modules

_REJECTED_MARK = b"\xff" * MARK_BYTES
_ROW_BYTES = 4096


def place_records(records: DataFrame, source: Source, files: int, job: StagingJob) -> DataFrame:
    """Return rows of partition, order and messages, for records that Spark reads.

    `files` is the number of files of the source. The rows are not sorted yet.
    """
    placed = records.select(
        _packed(job)(*RECORD_COLUMNS).alias("packed"),
        source_order(source, files).alias("order"),
    )
    return placed.select("packed.partition", "order", "packed.messages")


def place_columns(
    spark: SparkSession, columns: Columns[Any], source: Source, files: int, job: StagingJob
) -> DataFrame:
    """Return such rows for columns that the tasks read themselves."""
    spark.dataSource.register(_PlacedColumns)
    groups = columns.groups(spark.sparkContext.defaultParallelism)
    task = b64encode(pickle.dumps((columns, groups, Order.of(source, files), job))).decode()
    return spark.read.format(_PlacedColumns.name()).option("task", task).load()


def source_order(source: Source, files: int) -> Column:
    """Return the place of a record as one number, for a source with so many files.

    The rank of the file stands in the high bits. The low bits have the position of a line (text,
    json) or the number of a row (csv, parquet): one of the two tells records of a file apart.
    """
    ordering = Order.of(source, files)
    within = "source_position" if ordering.by_position else "source_row"
    rank = sql.shiftleft(sql.col("source_rank").cast("long"), ordering.shift)
    return rank.bitwiseOR(sql.col(within))


def pack(records: pa.RecordBatch, job: StagingJob, choose: Choose) -> tuple[NDArray[np.int64], Any]:
    """Return an array of marks and an Arrow column of messages, one of each for a record.

    A mark is the partition. Each rejected record has a mark of its own below 0, so that it is never
    joined with another one.
    """
    screened = screen(records, job.topic)
    reasons = screened.column("rejected")
    if reasons.null_count == len(screened):
        return _encode(screened, job, choose)
    is_fine, is_rejected = reasons.is_null(), reasons.is_valid()
    marks = -1 - np.arange(len(screened))
    marks[is_fine.to_numpy(zero_copy_only=False)], encoded = _encode(
        screened.filter(is_fine), job, choose
    )
    rejected = screened.filter(is_rejected).to_pylist()
    told = pa.array([_REJECTED_MARK + pickle.dumps(record) for record in rejected], pa.binary())
    messages = pc.replace_with_mask(pa.nulls(len(screened), pa.binary()), is_fine, encoded)
    return marks, pc.replace_with_mask(messages, is_rejected, told)


def _encode(
    records: pa.RecordBatch, job: StagingJob, choose: Choose
) -> tuple[NDArray[np.int64], Any]:
    key, value = records.column("key"), records.column("value")
    marks = choose(key, places_of(records)).astype(np.int64)
    return marks, encode_unnumbered(job.topic.dialect, key, value, marks)


def _partitions(marks: NDArray[np.int64]) -> NDArray[np.int32]:
    return np.maximum(marks, 0).astype(np.int32)


def unpack(messages: Any) -> tuple[int | None, Any, pa.Table | None]:
    """Return the partition of messages, the messages, and the rejected records among them.

    All messages must have the same partition; it is None if there is no message. The third value is
    None if no record was rejected.
    """
    marks = marks_of(messages)
    is_fine = marks >= 0
    rejected = None
    if not is_fine.all():
        told = messages.filter(pa.array(~is_fine)).to_pylist()
        rejected = pa.Table.from_pylist([pickle.loads(data[MARK_BYTES:]) for data in told])
        marks, messages = marks[is_fine], messages.filter(pa.array(is_fine))
    assert (marks == marks[:1]).all(), "one task, one partition"
    return (int(marks[0]) if len(marks) else None), messages, rejected


def _packed(job: StagingJob) -> Callable[..., Column]:
    """Return a function of columns to partition and messages; each task has one chooser."""

    def packed(batches: Iterator[Tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # noqa: UP006
        choose = job.chooser()
        for columns in batches:
            records = pa.RecordBatch.from_arrays(list(columns), list(RECORD_COLUMNS))
            marks, messages = pack(records, job, choose)
            partitions = pa.array(_partitions(marks))
            yield pa.StructArray.from_arrays([partitions, messages], ["partition", "messages"])

    kind = "partition int, messages binary"
    return arrow_udf(packed, kind)  # type: ignore[call-overload,no-any-return]


class TaskInput(InputPartition):
    """The items that one task reads."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.items = items


class _PlacedColumns(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = _PlacedReader(*pickle.loads(b64decode(options["task"])))

    @classmethod
    def name(cls) -> str:
        return "kminilog-columns"

    def schema(self) -> str:
        return "partition int, order long, messages binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._reader


class _PlacedReader(DataSourceReader):
    def __init__(
        self,
        columns: Columns[Any],
        groups: list[list[Any]],
        order: Order,
        job: StagingJob,
    ) -> None:
        self._columns = columns
        self._groups = groups
        self._order = order
        self._job = job

    def partitions(self) -> Sequence[TaskInput]:
        return [TaskInput(group) for group in self._groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # Spark's way to say that there are no partitions
            return
        assert isinstance(partition, TaskInput)
        freeze_modules()
        choose = self._job.chooser()
        for records in self._columns.read(partition.items):
            marks, messages = pack(records, self._job, choose)
            order = self._order.numbers(places_of(records))
            firsts, messages = join_groups(messages, marks, _ROW_BYTES)
            columns = {
                "partition": _partitions(marks[firsts]),
                "order": order[firsts],
                "messages": messages,
            }
            yield pa.record_batch(columns)
