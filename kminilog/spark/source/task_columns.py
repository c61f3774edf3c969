"""Sources whose keys and values tasks read by themselves, without the JVM.

    read_source    files --> JVM --> SQL --> Arrow --> the task's Python
    here           files ----------------------------> the task's Python

If no SQL expression is asked for, no record has to pass through the JVM. That passage costs more
than all later work on a record. This module knows which formats can be read so, and not how.
Source: ours.
"""

import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kminilog.spark.source.description import Source, check_options
from kminilog.spark.source.file_columns import FileColumns
from kminilog.spark.source.files import SourceFile
from kminilog.spark.source.parquet_columns import ParquetColumns
from kminilog.spark.source.records import read_source

Item = TypeVar("Item")


class Columns(Protocol[Item]):
    """The keys and values of a source, in items that tasks read: row groups, pieces of files."""

    @property
    def size_bytes(self) -> int:
        """How many bytes all items have, as far as that is known."""
        ...

    def groups(self, cores: int) -> list[list[Item]]:
        """Return the items of each task: neighbours, with about as many bytes in each task."""
        ...

    def read(self, items: Sequence[Item], /) -> Iterator[pa.RecordBatch]:
        """Yield the records of items in source order, with the columns of `read_source`."""
        ...


def columns_of(source: Source, files: Sequence[SourceFile]) -> ParquetColumns | FileColumns | None:
    """Return the columns of a source; None if `read_source` has to read it."""
    return ParquetColumns.of(source, files) or FileColumns.of(source, files)


def records_of(spark: SparkSession, source: Source, files: Sequence[SourceFile]) -> DataFrame:
    """Return the records of a source, as `read_source` does; tasks read them if they can.

    Raises SourceError; so do later jobs that use the DataFrame, through `spark_failures`.
    """
    check_options(source)
    columns: Columns[Any] | None = columns_of(source, files)
    if columns is None:
        return read_source(spark, source, files)
    spark.dataSource.register(_ColumnsSource)
    groups = columns.groups(spark.sparkContext.defaultParallelism)
    task = b64encode(pickle.dumps((columns, groups))).decode()
    return spark.read.format(_ColumnsSource.name()).option("task", task).load()


class Group(InputPartition):
    """The items that one task reads."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.items = items


class _ColumnsSource(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._reader = _ColumnsReader(*pickle.loads(b64decode(options["task"])))

    @classmethod
    def name(cls) -> str:
        return "kminilog-records"

    def schema(self) -> str:
        return (
            "source_rank int, source_position long, source_row long, key binary, value binary, "
            "rejected string"
        )

    def reader(self, schema: StructType) -> DataSourceReader:
        return self._reader


class _ColumnsReader(DataSourceReader):
    def __init__(self, columns: Columns[Any], groups: list[list[Any]]) -> None:
        self._columns = columns
        self._groups = groups

    def partitions(self) -> Sequence[Group]:
        return [Group(group) for group in self._groups]

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        if partition is None:  # Spark's way to say that there are no partitions
            return
        assert isinstance(partition, Group)
        yield from self._columns.read(partition.items)
