"""The records of text, CSV and JSON files as a Spark data source.

Large text and JSON files are cut into pieces of SPLIT_BYTES on every cluster. So the ordinal of a
line in its piece depends on the file only. Tasks open the files themselves. Here CSV files and
compressed files are one piece, because nobody can begin to read them in the middle. This module
does not know which part of a record is its key or its value.
"""

import json
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructType,
)

from kminilog.source.files import SourceFile
from kminilog.source.formats import Records, read_csv, read_json, read_text
from kminilog.source.pieces import Piece, pieces_of, split_bytes
from kminilog.source.task_groups import task_groups

RANK, POSITION, ROW, LINE = "_source_rank", "_source_position", "_source_row", "_source_line"
REJECTED = "_source_rejected"


class FileGroup(InputPartition):
    """The pieces that one task reads."""

    def __init__(self, pieces: list[Piece]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


def read_files(
    spark: SparkSession,
    files: Sequence[SourceFile],
    *,
    format: str,
    columns: Sequence[str] = (),
    header: bool = True,
) -> DataFrame:
    """Return a DataFrame with a row for each record; it reads nothing yet.

    A row has RANK, POSITION, ROW, LINE (bytes), REJECTED and the given columns (texts). `format` is
    text, csv or json; in csv LINE is null. `columns` must be all columns of a CSV file, and may be
    any members of JSON objects. They are null where REJECTED has a reason. A file that cannot be
    read raises SourceError in the job that reads it.
    """
    spark.dataSource.register(_FileSource)
    options = {
        "format": format,
        "files": files,
        "columns": list(columns),
        "header": header,
        "split_bytes": split_bytes(),
        "cores": spark.sparkContext.defaultParallelism,
    }
    return spark.read.format(_FileSource.name()).option("options", json.dumps(options)).load()


class _FileSource(DataSource):
    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._options = json.loads(options["options"])

    @classmethod
    def name(cls) -> str:
        return "kminilog-files"

    def schema(self) -> StructType:
        schema = StructType().add(RANK, IntegerType()).add(POSITION, LongType())
        schema = schema.add(ROW, LongType()).add(LINE, BinaryType()).add(REJECTED, StringType())
        for column in self._options["columns"]:
            schema = schema.add(column, StringType())
        return schema

    def reader(self, schema: StructType) -> DataSourceReader:
        return _FileReader(**self._options)


class _FileReader(DataSourceReader):
    def __init__(
        self,
        format: str,
        files: list[list[Any]],
        columns: list[str],
        header: bool,
        split_bytes: int,
        cores: int,
    ) -> None:
        self._format = format
        self._files = [SourceFile(*file) for file in files]
        self._columns = columns
        self._header = header
        self._split_bytes = split_bytes
        self._cores = cores

    def partitions(self) -> Sequence[FileGroup]:
        pieces = pieces_of(self._files, self._format, self._split_bytes)
        groups = task_groups(pieces, lambda piece: piece.size_bytes, cores=self._cores)
        return [FileGroup(group) for group in groups]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, FileGroup)
        for piece in partition.pieces:
            for records in self._records(piece):
                yield self._batch(piece.rank, records)

    def _records(self, piece: Piece) -> Iterator[Records]:
        if self._format == "csv":
            return read_csv(piece.path, self._columns, header=self._header)
        if self._format == "json":
            return read_json(piece.path, self._columns, piece.start, piece.stop)
        return read_text(piece.path, piece.start, piece.stop)

    def _batch(self, rank: int, records: Records) -> pa.RecordBatch:
        count = len(records.rows)
        fields = list(zip(*records.fields, strict=True)) or [()] * len(self._columns)
        arrays = [
            pa.array([rank] * count, pa.int32()),
            pa.array(records.positions, pa.int64()),
            pa.array(records.rows, pa.int64()),
            _array(records.lines, count, pa.binary()),
            _array(records.rejected, count, pa.string()),
            *(pa.array(field, pa.string()) for field in fields),
        ]
        names = [RANK, POSITION, ROW, LINE, REJECTED, *self._columns]
        return pa.RecordBatch.from_arrays(arrays, names)


def _array(entries: Sequence[Any], count: int, kind: pa.DataType) -> pa.Array:
    return pa.array(entries, kind) if entries else pa.nulls(count, kind)
