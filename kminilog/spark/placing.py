"""Records with the partition they go to and their place as one number, to be shuffled and sorted.

    partition   by key and place (bulk/partitioning.py); any, if the record is rejected
    order       the place: Spark sorts one number by radix, three columns it compares
    key, value  bytes or null
    rejected    null, or place and reason as one text: nothing else of the place comes through

Either in SQL, with a trip to Python and back for the partition; or, of Parquet columns, from tasks
that read them themselves (parquet_columns.py). Both give the same. Source: ours.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from typing import Any, Tuple  # noqa: UP035 - Spark looks for Tuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import StructType

from kminilog.bulk.partitioning import Choose, Partitions, Places
from kminilog.spark.parquet_columns import ParquetColumns, RowGroup
from kminilog.spark.quarantine import PLACE_COLUMNS
from kminilog.spark.screening import screen_batch
from kminilog.spark.source import Source
from kminilog.spark.staging import StagingJob

_SCHEMA = "partition int, order long, key binary, value binary, rejected string"


def places_of(records: pa.Table | pa.RecordBatch) -> Places:
    """Return the places of records as numpy arrays."""
    return Places(*(records.column(name).to_numpy().astype(np.int64) for name in PLACE_COLUMNS))


def place_records(records: DataFrame, source: Source, files: int, job: StagingJob) -> DataFrame:
    """Return screened records, placed; in SQL."""
    partition = _partition_of(job)(*PLACE_COLUMNS, "key", sql.col("rejected").isNotNull())
    told = sql.concat_ws(" ", *PLACE_COLUMNS, "rejected")
    return records.select(
        partition.alias("partition"),
        source_order(source, files).alias("order"),
        "key",
        "value",
        sql.when(sql.col("rejected").isNotNull(), told).alias("rejected"),
    )


def place_columns(
    spark: SparkSession, columns: ParquetColumns, files: int, job: StagingJob
) -> DataFrame:
    """Return the records of Parquet columns, screened and placed; tasks read them themselves."""
    spark.dataSource.register(_PlacedColumns)
    cores = spark.sparkContext.defaultParallelism
    task = b64encode(pickle.dumps((columns, columns.groups(cores), files, job))).decode()
    return spark.read.format(_PlacedColumns.name()).option("task", task).load()


def told_places(table: pa.Table) -> pa.Table:
    """Give rejected records their place and reason back, and the others any place."""
    told = (text and text.split(" ", 3) for text in table.column("rejected").to_pylist())
    rows = [(*map(int, parts[:3]), parts[3]) if parts else (0, 0, 0, None) for parts in told]
    table = table.drop_columns(["rejected"])
    names, kinds = [*PLACE_COLUMNS, "rejected"], [pa.int64()] * 3 + [pa.string()]
    for name, kind, column in zip(names, kinds, zip(*rows, strict=True), strict=True):
        table = table.append_column(name, pa.array(column, kind))
    return table


def source_order(source: Source, files: int) -> Column:
    """The place of a record of one of so many files as a number.

    Two lines of a file differ in their position, and two rows in their row.
    """
    within = "source_position" if source.format in ("text", "json") else "source_row"
    rank = sql.shiftleft(sql.col("source_rank").cast("long"), _rank_shift(files))
    return rank.bitwiseOR(sql.col(within))


def _rank_shift(files: int) -> int:
    return 63 - files.bit_length()


def _partition_of(job: StagingJob) -> Callable[..., Column]:
    """The column that says where a record goes; one chooser a task."""

    def partitions(
        batches: Iterator[Tuple[pa.Array, pa.Array, pa.Array, pa.Array, pa.Array]],  # noqa: UP006
    ) -> Iterator[pa.Array]:
        choose = job.chooser()
        for rank, position, row, key, is_rejected in batches:
            places = Places(*(part.to_numpy().astype(np.int64) for part in (rank, position, row)))
            yield pa.array(_choose(choose, key, places, is_rejected))

    return arrow_udf(partitions, "int")  # type: ignore[call-overload,no-any-return]


def _choose(choose: Choose, keys: Any, places: Places, is_rejected: Any) -> Partitions:
    """Choose the partitions of records; what is rejected may be anywhere, and is not asked for."""
    if not pc.any(is_rejected).as_py():
        return choose(keys, places)
    fine = ~is_rejected.to_numpy(zero_copy_only=False)
    chosen = np.zeros(len(keys), np.int32)
    chosen[fine] = choose(keys.filter(pa.array(fine)), Places(*(part[fine] for part in places)))
    return chosen


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
        return _SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._reader


class _PlacedReader(DataSourceReader):
    def __init__(
        self, columns: ParquetColumns, groups: list[list[RowGroup]], files: int, job: StagingJob
    ) -> None:
        self._columns = columns
        self._groups = groups
        self._files = files
        self._job = job

    def partitions(self) -> Sequence[_RowGroups]:
        return [_RowGroups(group) for group in self._groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # Spark's way to say that there are no partitions
            return
        assert isinstance(partition, _RowGroups)
        choose = self._job.chooser()
        for batch in self._columns.read(partition.row_groups):
            yield self._placed(choose, screen_batch(batch, self._job.topic))

    def _placed(self, choose: Choose, batch: pa.RecordBatch) -> pa.RecordBatch:
        places, keys, rejected = places_of(batch), batch.column("key"), batch.column("rejected")
        if rejected.null_count < len(batch):
            numbers = (batch.column(name).cast(pa.string()) for name in PLACE_COLUMNS)
            rejected = pc.binary_join_element_wise(*numbers, rejected, " ")
        return pa.record_batch(
            {
                "partition": pa.array(_choose(choose, keys, places, rejected.is_valid())),
                "order": pa.array(places.rank << _rank_shift(self._files) | places.row),
                "key": keys,
                "value": batch.column("value"),
                "rejected": rejected,
            }
        )
