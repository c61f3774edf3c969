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

import re
from collections.abc import Callable, Sequence
from functools import partial, reduce
from itertools import groupby
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

from kminilog.job_errors import SourceError
from kminilog.source.description import Source, check_options, files_of
from kminilog.source.file_columns import check_value, no_column
from kminilog.source.files import SourceFile
from kminilog.source.formats import csv_columns
from kminilog.source.line_columns import search
from kminilog.spark.runtime.driver_rows import to_frame
from kminilog.spark.runtime.failures import spark_failures
from kminilog.spark.source.file_source import LINE, POSITION, RANK, REJECTED, ROW, read_files
from kminilog.spark.source.nanoseconds import nanoseconds_in, read_parquet, with_nanoseconds
from kminilog.spark.source.row_json import column_named, row_json

_MAX_COLUMNS = 10_000
_URL = "_source_url"
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9/._=-]*")
_OWN_COLUMNS = (RANK, POSITION, ROW, LINE, REJECTED)
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`")
_ALL_COLUMNS = re.compile(r"(?:^|[(,.])\s*\*\s*(?:$|[,)]|except\b)", re.IGNORECASE)


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
            read = partial(read_files, spark, files, format=source.format, header=source.header)
            frame = read(columns=_columns(spark, source, files))
            if source.format == "json":
                frame = read(columns=_used_columns(source, frame))
        return _records(source, frame)


def _columns(spark: SparkSession, source: Source, files: Sequence[SourceFile]) -> list[str]:
    if source.format == "csv":
        return csv_columns((file.path for file in files), header=source.header)
    if source.format == "json" and (source.key or source.key_expr or source.value):
        line = sql.col(LINE).cast("string")
        without_mark = sql.regexp_replace(line, "^\ufeff", "")
        line = sql.when(sql.col(POSITION) == 0, without_mark).otherwise(line)
        names = read_files(spark, files, format="text").select(
            sql.explode(sql.json_object_keys(line)).alias("name")
        )
        found = sorted(row.name for row in names.distinct().limit(_MAX_COLUMNS + 1).collect())
        if len(found) > _MAX_COLUMNS:
            reason = f"its objects have more than {_MAX_COLUMNS} names; they are no columns"
            raise SourceError(str(source), reason=reason)
        return found
    return []


def _used_columns(source: Source, frame: DataFrame) -> list[str]:
    """Return the columns that key and value use.

    A task that reads no other members rejects no line for them, as tasks without SQL do not.
    """
    is_exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    spelled = str if is_exact else str.lower
    references = _references(_records(source, frame)._jdf.queryExecution().analyzed())
    used = {spelled(name) for name in references}
    names = (name for name in frame.columns if name not in _OWN_COLUMNS)
    return [name for name in names if spelled(name) in used]


def _references(plan: Any) -> set[str]:
    """Return the names of the columns that a plan or its parts refer to, as SQL spells them."""
    names, parts = plan.references().toSeq(), plan.children()
    found = {names.apply(number).name() for number in range(names.size())}
    return found.union(*(_references(parts.apply(number)) for number in range(parts.size())))


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
        check_value(source, columns)
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
        raise no_column(source, source.key, columns)
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
