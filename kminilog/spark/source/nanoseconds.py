"""Parquet's TIMESTAMP(NANOS): texts with all their digits, where Spark has plain numbers.

Spark counts microseconds. It either refuses these columns, or reads them as numbers of nanoseconds
since 1970. In the session of a job it reads numbers (batch_sizes.py). Only the footers say which
numbers are timestamps, and whether they are in UTC. Then the numbers become texts, for SQL
expressions too. This module does not know what the records are. Source: Apache Parquet, by pyarrow.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from kminilog.job_errors import SourceError
from kminilog.spark.source.files import SourceFile
from kminilog.spark.source.row_json import column_named, timestamp_json

NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
_NANOS = {"Type": "Timestamp", "timeUnit": "nanoseconds"}
_KINDS = {True: "TIMESTAMP(NANOS) in UTC", False: "TIMESTAMP(NANOS), local", None: "another type"}

# A column, or a member of one: `element` of a list, `key` and `value` of a map.
_Path = tuple[str, ...]
IsUtc = Mapping[_Path, bool]


def nanoseconds_in(spark: SparkSession, files: Sequence[SourceFile]) -> IsUtc:
    """Return the columns, or members of columns, that are timestamps in nanoseconds.

    True stands for UTC, False for local time. Reads footers only. Raises SourceError if such a
    column has another type in another file, because Spark would mix the numbers of both.
    """
    if not any(_has_nanoseconds(file.path) for file in files):
        return {}
    is_case_sensitive = spark.conf.get("spark.sql.caseSensitive") == "true"
    return _timestamps(files, is_case_sensitive=is_case_sensitive)


def with_nanoseconds(frame: DataFrame, is_utc: IsUtc) -> DataFrame:
    """Return rows with these timestamps as texts, in the form that `row_json` writes.

    A timestamp that is a key of a map stays the number of nanoseconds since 1970. The session of
    `frame` must have NANOS_AS_LONG. Raises SourceError if Spark does not find one of the columns.
    """
    if not is_utc:
        return frame
    found = {path for path, _ in _members(to_arrow_schema(frame.schema, timezone="UTC"))}
    for path in is_utc.keys() - found:
        reason = "it has nanoseconds, and Spark does not find it; write it with microseconds"
        raise SourceError(f"column {'.'.join(path)}", reason=reason)
    return frame.withColumns(
        {
            field.name: _exact(column_named(field.name), field.dataType, (field.name,), is_utc)
            for field in frame.schema
            if _is_around((field.name,), is_utc)
        }
    )


def _has_nanoseconds(path: str) -> bool:
    """Return what the footer says; False for a file that is not Parquet, which others report."""
    with suppress(pa.ArrowException, OSError):
        schema: Any = pq.read_metadata(path).schema
        columns = (schema.column(number) for number in range(len(schema.names)))
        return any(_NANOS.items() <= json.loads(c.logical_type.to_json()).items() for c in columns)
    return False


def _timestamps(files: Sequence[SourceFile], *, is_case_sensitive: bool) -> dict[_Path, bool]:
    """Return where nanoseconds are, and whether in UTC. Raises SourceError if files differ."""
    seen: dict[_Path, tuple[str, _Path, bool | None]] = {}
    for file in files:
        for path, is_utc in _columns(file):
            same = path if is_case_sensitive else tuple(name.casefold() for name in path)
            where, other, before = seen.setdefault(same, (file.path, path, is_utc))
            if is_utc is not before or (is_utc is not None and path != other):
                reason = f"column {'.'.join(path)} is {_KINDS[is_utc]}, but {'.'.join(other)} of "
                reason += f"{where} is {_KINDS[before]}; write one of them anew"
                raise SourceError(file.path, reason=reason)
    return {path: is_utc for _, path, is_utc in seen.values() if is_utc is not None}


def _columns(file: SourceFile) -> Iterator[tuple[_Path, bool | None]]:
    """Yield the columns of a file, and those that names of directories make (`year=2026`)."""
    try:
        with pq.ParquetFile(file.path, coerce_int96_timestamp_unit="us") as opened:
            yield from _members(opened.schema_arrow)
    except (pa.ArrowException, OSError) as error:
        reason = f"cannot be read as Parquet: {str(error).strip().splitlines()[0]}"
        raise SourceError(file.path, reason=reason) from error
    below = PurePath(file.path).relative_to(file.directory) if file.directory else PurePath()
    yield from (((part.split("=")[0],), None) for part in below.parts[:-1] if "=" in part)


def _members(parts: Any, path: _Path = ()) -> Iterator[tuple[_Path, bool | None]]:
    """Yield the leaves of a schema or a struct: True for nanoseconds in UTC, False for local ones.

    None stands for any other type.
    """
    for field in parts:
        yield from _leaves(field.type, (*path, field.name))


def _leaves(kind: Any, path: _Path) -> Iterator[tuple[_Path, bool | None]]:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_struct(kind):
        yield from _members(kind, path)
    elif pa.types.is_map(kind):
        yield from _leaves(kind.key_type, (*path, "key"))
        yield from _leaves(kind.item_type, (*path, "value"))
    elif pa.types.is_nested(kind):
        yield from _leaves(kind.value_type, (*path, "element"))
    else:
        is_nanos = pa.types.is_timestamp(kind) and kind.unit == "ns"
        yield path, kind.tz is not None if is_nanos else None


def _is_around(path: _Path, is_utc: IsUtc) -> bool:
    return any(found[: len(path)] == path for found in is_utc)


def _exact(column: Column, kind: DataType, path: _Path, is_utc: IsUtc) -> Column:
    """Return the column with a text in place of each timestamp that counts nanoseconds."""
    if path in is_utc:
        return _text(column, is_utc=is_utc[path])
    if not _is_around(path, is_utc):
        return column
    if isinstance(kind, StructType):
        members = []
        for name, member in ((field.name, field.dataType) for field in kind):
            exact = _exact(column.getField(name), member, (*path, name), is_utc)
            members.append(exact.alias(name))
        return sql.when(column.isNotNull(), sql.struct(*members))
    if isinstance(kind, MapType):
        key, value = kind.keyType, kind.valueType
        of_key, of_value = (*path, "key"), (*path, "value")
        if of_key not in is_utc and _is_around(of_key, is_utc):
            column = sql.transform_keys(column, lambda name, _: _exact(name, key, of_key, is_utc))
        return sql.transform_values(column, lambda _, item: _exact(item, value, of_value, is_utc))
    assert isinstance(kind, ArrayType)
    element = kind.elementType
    return sql.transform(column, lambda item: _exact(item, element, (*path, "element"), is_utc))


def _text(nanos: Column, *, is_utc: bool) -> Column:
    # Decimals, since `/` computes in doubles. Rounded down, since times before 1970 are below 0.
    micros = sql.floor(nanos.cast("decimal(19,0)") / 1000).cast("long")
    epoch = sql.lit("1970-01-01").cast("timestamp_ntz")
    local = sql.timestamp_add("MICROSECOND", micros, epoch)
    moment = sql.timestamp_micros(micros) if is_utc else local
    return timestamp_json(moment, nanos=sql.pmod(nanos, sql.lit(1000)))
