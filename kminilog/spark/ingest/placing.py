"""Records as messages with the partition they go to and their place as one number, to be sorted.

    partition   by key and place (bulk/partitioning.py); 0, if the record is rejected
    order       the place: Spark sorts one number by radix, three columns it compares
    messages    one, or some that follow each other in source and partition, whole but for their
                offsets: there they have the partition (bulk/unnumbered.py); or a number below 0
                and what record was rejected: place, reason, key and value

What the JVM shuffles, sorts and hands to Python again are strings, and what is left to do with them
is to write them. Records that Spark has read become a row each. Tasks that read Parquet columns
themselves (source/parquet_columns.py) read stretches of the source, of which no other task has a
part: there a row has about what lies between two index entries, and the JVM has little to do.
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

from kminilog.bulk.partitioning import Choose, Places
from kminilog.bulk.unnumbered import MARK_BYTES, encode_unnumbered, join_groups, marks_of
from kminilog.spark.ingest.quarantine import PLACE_COLUMNS
from kminilog.spark.ingest.screening import screen
from kminilog.spark.ingest.staging import StagingJob
from kminilog.spark.runtime.tasks import freeze_modules
from kminilog.spark.source.parquet_columns import ParquetColumns, RowGroup
from kminilog.spark.source.records import Source

RECORD_COLUMNS = (*PLACE_COLUMNS, "key", "value", "rejected")
_REJECTED_MARK = b"\xff" * MARK_BYTES
_ROW_BYTES = 4096


def places_of(records: pa.Table | pa.RecordBatch) -> Places:
    """Return the places of records as numpy arrays."""
    return Places(*(records.column(name).to_numpy().astype(np.int64) for name in PLACE_COLUMNS))


def place_records(records: DataFrame, source: Source, files: int, job: StagingJob) -> DataFrame:
    """Return the messages of records that Spark has read, of so many files."""
    placed = records.select(
        _packed(job)(*RECORD_COLUMNS).alias("packed"),
        source_order(source, files).alias("order"),
    )
    return placed.select("packed.partition", "order", "packed.messages")


def place_columns(
    spark: SparkSession, columns: ParquetColumns, files: int, job: StagingJob
) -> DataFrame:
    """Return the messages of Parquet columns; tasks read them themselves."""
    spark.dataSource.register(_PlacedColumns)
    groups = columns.groups(spark.sparkContext.defaultParallelism)
    task = b64encode(pickle.dumps((columns, groups, _rank_shift(files), job))).decode()
    return spark.read.format(_PlacedColumns.name()).option("task", task).load()


def source_order(source: Source, files: int) -> Column:
    """The place of a record of one of so many files as a number.

    Two lines of a file differ in their position, and two rows in their row.
    """
    within = "source_position" if source.format in ("text", "json") else "source_row"
    rank = sql.shiftleft(sql.col("source_rank").cast("long"), _rank_shift(files))
    return rank.bitwiseOR(sql.col(within))


def _rank_shift(files: int) -> int:
    return 63 - files.bit_length()


def pack(records: pa.RecordBatch, job: StagingJob, choose: Choose) -> tuple[NDArray[np.int64], Any]:
    """Return the marks of records and the column of their messages, row by row.

    A mark is the partition, or a number below 0 of its own for each record that is rejected.
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
    """Return the one partition that messages go to (None: there are none), the messages, and the
    records that were rejected, if there are any."""
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
    """Partition and messages column of a record that Spark has read; one chooser a task."""

    def packed(batches: Iterator[Tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # noqa: UP006
        choose = job.chooser()
        for columns in batches:
            records = pa.RecordBatch.from_arrays(list(columns), list(RECORD_COLUMNS))
            marks, messages = pack(records, job, choose)
            partitions = pa.array(_partitions(marks))
            yield pa.StructArray.from_arrays([partitions, messages], ["partition", "messages"])

    kind = "partition int, messages binary"
    return arrow_udf(packed, kind)  # type: ignore[call-overload,no-any-return]


class _RowGroups(InputPartition):
    def __init__(self, row_groups: list[RowGroup]) -> None:
        super().__init__(row_groups)
        self.row_groups = row_groups


class _PlacedColumns(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = _PlacedReader(*pickle.loads(b64decode(options["task"])))

    @classmethod
    def name(cls) -> str:
        return "kminilog-parquet-columns"

    def schema(self) -> str:
        return "partition int, order long, messages binary"

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._reader


class _PlacedReader(DataSourceReader):
    def __init__(
        self,
        columns: ParquetColumns,
        groups: list[list[RowGroup]],
        rank_shift: int,
        job: StagingJob,
    ) -> None:
        self._columns = columns
        self._groups = groups
        self._rank_shift = rank_shift
        self._job = job

    def partitions(self) -> Sequence[_RowGroups]:
        return [_RowGroups(group) for group in self._groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # Spark's way to say that there are no partitions
            return
        assert isinstance(partition, _RowGroups)
        freeze_modules()
        choose = self._job.chooser()
        for records in self._columns.read(partition.row_groups):
            marks, messages = pack(records, self._job, choose)
            places = places_of(records)
            order = places.rank << self._rank_shift | places.row
            firsts, messages = join_groups(messages, marks, _ROW_BYTES)
            columns = {
                "partition": _partitions(marks[firsts]),
                "order": order[firsts],
                "messages": messages,
            }
            yield pa.record_batch(columns)
