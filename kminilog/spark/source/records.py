"""From the files of a source to records with a key, a value and a place, as a DataFrame.

    source_rank      the file: arguments as given, then path
    source_position  where the line begins in the file (text, json); 0 (csv, parquet)
    source_row       ordinal in the file (csv, parquet), or in the piece of it that one task reads
    key, value       bytes or null
    rejected         null, or why the record cannot be decoded; key and value are null then

The first three columns together give the source order. The *whole record* is the line (text, json),
or the row as JSON with its nulls (csv, parquet). A key regex searches it, and it is the default
value. SQL expressions use the names of the columns; text has one column, `value`. This module does
not know what becomes of the records.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from itertools import groupby
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

from kminilog.job_errors import SourceError
from kminilog.spark.runtime.driver_rows import to_frame
from kminilog.spark.runtime.failures import spark_failures
from kminilog.spark.source.compression import check_content, open_decompressed
from kminilog.spark.source.file_source import LINE, POSITION, RANK, REJECTED, ROW, read_files
from kminilog.spark.source.files import SourceFile, list_files
from kminilog.spark.source.formats import csv_columns
from kminilog.spark.source.line_columns import search
from kminilog.spark.source.nanoseconds import nanoseconds_in, read_parquet, with_nanoseconds
from kminilog.spark.source.row_json import column_named, row_json

FORMATS = ("text", "csv", "json", "parquet")
_MAX_COLUMNS = 10_000
_READ_BYTES = 1 << 20
_URL = "_source_url"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._=-]*")
_OWN_COLUMNS = (RANK, POSITION, ROW, LINE, REJECTED)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_ALL_COLUMNS = re.compile(r"(?:^|[(,.])\s*\*\s*(?:$|[,)]|except\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Source:
    """Where records come from, and what their keys and values are.

    At most one of three may be given: `key` is a column, `key_expr` is SQL, and `key_regex` is
    Python's `re` on the bytes of the whole record. Its key is group 1, or the whole match if it has
    no group; no match is no key. `value` is a column, or else SQL; None is the whole record.
    """

    paths: tuple[str, ...]
    format: str = "text"
    key: str | None = None
    key_regex: str | None = None
    key_expr: str | None = None
    value: str | None = None
    header: bool = True

    def __str__(self) -> str:
        return ", ".join(self.paths)

    def to_json(self) -> dict[str, Any]:
        """Return the source as a manifest records it; paths become absolute."""
        return {**asdict(self), "paths": [os.path.abspath(path) for path in self.paths]}


class Place(NamedTuple):
    """Where a record is in a source; places are in source order."""

    rank: int
    position: int
    row: int


class Location(NamedTuple):
    """Where a record is, for humans: its file, and its `line` or `row`, counted from 1."""

    path: str
    unit: str
    number: int


def read_source(
    spark: SparkSession, source: Source, files: Sequence[SourceFile] | None = None
) -> DataFrame:
    """Return the records of a source as a DataFrame; `files` is its file list, if known already.

    Reads only headers and footers now, with two exceptions: names of JSON members, if `source` asks
    for a key or a value by name or by SQL, and INT96 columns of Parquet. A record that cannot be
    decoded is `rejected`, which is no error. Raises SourceError; so do later jobs that use the
    DataFrame, through `spark_failures`.
    """
    check_options(source)
    files = files or files_of(source)
    with spark_failures(str(source)):
        if source.format == "parquet":
            frame = _read_parquet(spark, files)
        else:
            columns = _columns(spark, source, files)
            frame = read_files(
                spark, files, format=source.format, columns=columns, header=source.header
            )
        return _records(source, frame)


def locate(
    source: Source, files: Sequence[SourceFile], places: Iterable[Place]
) -> dict[Place, str]:
    """Return the file and the line or row of some records, as text; costs what `locations` does."""
    ordered = sorted(set(places))
    found = zip(ordered, locations(source, files, ordered), strict=True)
    return {place: f"{path}, {unit} {number}" for place, (path, unit, number) in found}


def locations(
    source: Source, files: Sequence[SourceFile], places: Iterable[Place]
) -> Iterator[Location]:
    """Yield where records are, one by one; `places` must be in source order.

    Reads text and JSON files up to the last of their places. Raises SourceError.
    """
    for rank, group in groupby(places, key=lambda place: place.rank):
        path = files[rank].path
        if source.format in ("csv", "parquet"):
            yield from (Location(path, "row", place.row + 1) for place in group)
            continue
        line, position = 1, 0
        with open_decompressed(path) as file:
            for place in group:
                while position < place.position:
                    data = file.read(min(place.position - position, _READ_BYTES))
                    if not data:
                        break
                    line, position = line + data.count(b"\n"), position + len(data)
                yield Location(path, "line", line)


def files_of(source: Source) -> list[SourceFile]:
    """Return the files of a source in source order; see `list_files`.

    In all formats but Parquet, reads the first bytes of each file. Raises SourceError for what
    `list_files` or `check_content` refuses.
    """
    files = list_files(source.paths)
    if source.format != "parquet":
        for file in files:
            check_content(file.path)
    return files


def check_options(source: Source) -> None:
    """Raise SourceError for an unknown format, two kinds of keys or a wrong regex."""
    if source.format not in FORMATS:
        reason = f"no format {source.format!r}; there is: {', '.join(FORMATS)}"
        raise SourceError(str(source), reason=reason)
    given = [name for name in (source.key, source.key_regex, source.key_expr) if name is not None]
    if len(given) > 1:
        reason = "give one of a key column, a key regex and a key expression, not more"
        raise SourceError(str(source), reason=reason)
    if source.key_regex is not None:
        try:
            re.compile(source.key_regex.encode("utf-8", "surrogateescape"))
        except re.error as error:
            reason = f"key regex {source.key_regex!r}: {error}"
            raise SourceError(str(source), reason=reason) from None


def _columns(spark: SparkSession, source: Source, files: Sequence[SourceFile]) -> list[str]:
    if source.format == "csv":
        with_records = (file.path for file in files if file.size_bytes)
        return csv_columns(next(with_records, files[0].path), header=source.header)
    if source.format == "json" and (source.key or source.key_expr or source.value):
        line = sql.col(LINE).cast("string")
        names = read_files(spark, files, format="text").select(
            sql.explode(sql.json_object_keys(line)).alias("name")
        )
        found = sorted(row.name for row in names.distinct().limit(_MAX_COLUMNS + 1).collect())
        if len(found) > _MAX_COLUMNS:
            reason = f"its objects have more than {_MAX_COLUMNS} names; they are no columns"
            raise SourceError(str(source), reason=reason)
        return found
    return []


def _read_parquet(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    nanoseconds = nanoseconds_in(spark, files)
    frames = []
    for directory, group in groupby(files, key=lambda file: file.directory):
        reader = spark.read.option("mergeSchema", "true").option("ignoreCorruptFiles", "false")
        based = reader.option("basePath", f"file://{directory}") if directory else reader
        globs = [as_glob(file.path) for file in group]
        frames.append(_with_place(read_parquet(based, globs, nanoseconds)))
    frame = reduce(lambda one, two: one.unionByName(two, allowMissingColumns=True), frames)
    urls = [_url(spark, file.path) for file in files]
    ranks = pa.table({_URL: urls, RANK: [file.rank for file in files]})
    ranked = frame.join(sql.broadcast(to_frame(spark, ranks)), _URL, "left")
    unknown = sql.raise_error(sql.concat(sql.lit("not in the list of files: "), _URL))
    rank = sql.coalesce(sql.col(RANK).cast("int"), unknown)
    absent = {LINE: sql.lit(None).cast("binary"), REJECTED: sql.lit(None).cast("string")}
    return with_nanoseconds(ranked.withColumns({RANK: rank, **absent}).drop(_URL), nanoseconds)


def _with_place(frame: DataFrame) -> DataFrame:
    return frame.select(
        "*",
        sql.col("_metadata.file_path").alias(_URL),
        sql.lit(0).cast("long").alias(POSITION),
        sql.col("_metadata.row_index").alias(ROW),
    )


def _url(spark: SparkSession, path: str) -> str:
    """Return the URL that Spark gives a file, made once instead of parsed back for each row."""
    if _PLAIN_PATH.fullmatch(path):
        return f"file:{path}"
    assert spark._jvm is not None
    return str(spark._jvm.org.apache.hadoop.fs.Path(f"file:{path}").toUri().toString())


def as_glob(path: str) -> str:
    """Return a URL that Spark reads as exactly this path: characters of globs are escaped."""
    return "file://" + re.sub(r"([\\{}\[\]*?,])", r"\\\1", path)


def _records(source: Source, frame: DataFrame) -> DataFrame:
    columns = [name for name in frame.columns if name not in _OWN_COLUMNS]
    if source.format == "text":
        columns = ["value"]
        frame = frame.withColumn("value", sql.col(LINE).cast("string"))
    theirs = frame.drop(*_OWN_COLUMNS)
    whole = _whole(source, theirs, columns)
    value = whole
    if source.value is not None:
        is_column = source.value in columns
        column = column_named(source.value) if is_column else _expression(source, source.value)
        value = _bytes(theirs, column)
    key = _key(source, theirs, columns, whole)
    if source.format in ("csv", "json"):  # rejected records have no key and no value
        key, value = (sql.when(sql.col(REJECTED).isNull(), column) for column in (key, value))
    return frame.select(
        sql.col(RANK).alias("source_rank"),
        sql.col(POSITION).alias("source_position"),
        sql.col(ROW).alias("source_row"),
        key.alias("key"),
        value.alias("value"),
        sql.col(REJECTED).alias("rejected"),
    )


def _whole(source: Source, frame: DataFrame, columns: list[str]) -> Column:
    if source.format in ("text", "json"):
        return sql.col(LINE)
    return _bytes(frame, sql.struct(*map(column_named, columns)))


def _key(source: Source, frame: DataFrame, columns: list[str], whole: Column) -> Column:
    if source.key_regex is not None:
        return _regex_key(source.key_regex)(whole)
    if source.key_expr is not None:
        return _bytes(frame, _expression(source, source.key_expr))
    if source.key is None:
        return sql.lit(None).cast("binary")
    if source.key not in columns:
        reason = f"no column {source.key!r}; there is: {', '.join(columns) or 'none'}"
        raise SourceError(str(source), reason=reason)
    return _bytes(frame, column_named(source.key))


def _expression(source: Source, text: str) -> Column:
    if _ALL_COLUMNS.search(_QUOTED.sub("''", text)):  # it would have ours among them
        raise SourceError(str(source), reason=f"{text}: write the names of the columns, not *")
    return sql.expr(text)


def _bytes(frame: DataFrame, column: Column) -> Column:
    kind = frame.select(column).schema[0].dataType
    if isinstance(kind, BinaryType):
        return column
    if isinstance(kind, StructType | ArrayType | MapType | VariantType):
        return row_json(column, kind)
    return column.cast("string").cast("binary")


def _regex_key(regex: str) -> Callable[..., Column]:
    def key(lines: pa.Array) -> pa.Array:
        return search(regex, lines)

    return arrow_udf(key, "binary")  # type: ignore[call-overload,no-any-return]
