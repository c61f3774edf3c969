"""Parquet's timestamps in nanoseconds: texts with all their digits, where Spark has none for them.

Spark counts microseconds. Files have two types that count nanoseconds:

    TIMESTAMP(NANOS)   Spark reads numbers of nanoseconds since 1970, if the session asks for them
                       (own_session.py)
    INT96              of old writers, always UTC. Spark drops the digits behind the microseconds
                       silently. If a column has such digits, Spark reads it as bytes instead

Only footers say which numbers are timestamps, and whether they are in UTC. Only reading an INT96
column shows whether it has such digits: tasks do that before the records are read. Then numbers and
bytes become texts, for SQL expressions too. This module does not know what the records are. Source:
Apache Parquet, by pyarrow.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    LongType,
    MapType,
    StructType,
)

from kminilog.job_errors import SourceError
from kminilog.source.files import SourceFile
from kminilog.source.task_groups import task_groups
from kminilog.spark.runtime.tasks import SparkTasks
from kminilog.spark.source.row_json import column_named, timestamp_json

NANOS_AS_LONG = "spark.sql.legacy.parquet.nanosAsLong"
_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
_NANOS = {"Type": "Timestamp", "timeUnit": "nanoseconds"}
_INT96 = "INT96"
_UTC, _LOCAL, _OTHER = "TIMESTAMP(NANOS) in UTC", "TIMESTAMP(NANOS), local", "another type"
_FINE = "INT96 with nanoseconds"
_BATCH_ROWS = 8192
_BYTES_OF_INT96 = 12
_BACKWARDS = "".join(f"${number}" for number in range(_BYTES_OF_INT96, 0, -1))
_JULIAN_DAY_OF_1970 = 2_440_588
_NANOS_OF_DAY = 86_400 * 10**9

# A column, or a member of one: `element` of a list, `key` and `value` of a map.
_Path = tuple[str, ...]
Kinds = Mapping[_Path, str]
_Leaf = Callable[[Column, str], Column]


def nanoseconds_in(spark: SparkSession, files: Sequence[SourceFile]) -> Kinds:
    """Return the columns, or members of columns, that are timestamps in nanoseconds.

    The type of each is given in words. INT96 counts if it has more digits than microseconds in one
    of the files. Reads footers, and in tasks all columns with INT96. Raises SourceError if such a
    column has another type in another file, because Spark would mix the numbers of both.
    """
    types = [_types(file.path) for file in files]
    old = [file for file, found in zip(files, types, strict=True) if _INT96 in found]
    tasks = SparkTasks(spark)
    groups = task_groups(old, lambda file: file.size_bytes, cores=tasks.cores)
    fine = set[_Path]().union(*tasks.map(groups, _fine_int96))
    if not fine and not any(found - {_INT96} for found in types):
        return {}
    is_case_sensitive = spark.conf.get("spark.sql.caseSensitive") == "true"
    return _timestamps(files, fine, is_case_sensitive=is_case_sensitive)


def read_parquet(reader: DataFrameReader, urls: Sequence[str], kinds: Kinds) -> DataFrame:
    """Return the rows of Parquet files; each INT96 of `kinds` is a number of nanoseconds.

    It is a decimal, because 64 bits do not hold distant years. If there is one, the session reads
    all Parquet row by row from now on: only that reader of Spark's gives INT96 as bytes. `reader`
    must not be used again, because it keeps the schema of these files.
    """
    frame = reader.parquet(*urls)
    old = {path: kind for path, kind in kinds.items() if kind == _FINE}
    schema = _replaced(frame, old, lambda *_: sql.lit(None).cast("binary")).schema
    if schema == frame.schema:
        return frame
    frame.sparkSession.conf.set(_VECTORIZED, "false")
    return _replaced(reader.schema(schema).parquet(*urls), old, _as_number)


def with_nanoseconds(frame: DataFrame, kinds: Kinds) -> DataFrame:
    """Return rows with these timestamps as texts, in the form that `row_json` writes.

    A timestamp that is a key of a map stays the number of nanoseconds since 1970. The session of
    `frame` must have NANOS_AS_LONG. Raises SourceError if Spark does not find one of the columns.
    """
    if not kinds:
        return frame
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    found = {path for path, _ in _leaves(_empty(schema))}
    for path in kinds.keys() - found:
        reason = "it has nanoseconds, and Spark does not find it; write it with microseconds"
        raise SourceError(f"column {'.'.join(path)}", reason=reason)
    return _replaced(frame, kinds, _as_text)


def _types(path: str) -> set[str]:
    """Return which types of nanoseconds a footer has; none if others will report the file."""
    with suppress(pa.ArrowException, OSError):
        schema: Any = pq.read_metadata(path).schema
        columns = [schema.column(number) for number in range(len(schema.names))]
        logical = [json.loads(column.logical_type.to_json()) for column in columns]
        found = {_UTC for kind in logical if _NANOS.items() <= kind.items()}
        return found | {_INT96 for column in columns if column.physical_type == _INT96}
    return set()


def _fine_int96(files: Sequence[SourceFile]) -> set[_Path]:
    """Return which INT96 timestamps have more digits than microseconds; a task runs it."""
    found: set[_Path] = set()
    for file in files:
        with (
            pq.ParquetFile(file.path) as nanos,
            pq.ParquetFile(file.path, coerce_int96_timestamp_unit="us") as micros,
        ):
            schemas = nanos.schema_arrow, micros.schema_arrow
            names = [one.name for one, two in zip(*schemas, strict=True) if one.type != two.type]
            both = (opened.iter_batches(_BATCH_ROWS, columns=names) for opened in (nanos, micros))
            for batches in zip(*both, strict=True):
                leaves = (_leaves(batch.to_struct_array()) for batch in batches)
                for (path, fine), (_, coarse) in zip(*leaves, strict=True):
                    if fine.type != coarse.type and _has_more_digits(fine, coarse):
                        found.add(path)
    return found


def _has_more_digits(nanos: pa.Array, micros: pa.Array) -> bool:
    """Return whether any of these timestamps has more digits.

    Nanoseconds of distant years do not fit into 64 bits and wrap around. The difference wraps
    around too, and so is right again.
    """
    fine, coarse = (array.drop_null().view(pa.int64()).to_numpy() for array in (nanos, micros))
    return bool((fine - coarse * 1000).any())


def _timestamps(files: Sequence[SourceFile], fine: set[_Path], *, is_case_sensitive: bool) -> Kinds:
    """Return where nanoseconds are, and of which type. Raises SourceError if files differ."""
    seen: dict[_Path, tuple[str, _Path, str]] = {}
    for file in files:
        for path, kind in _columns(file, fine):
            same = path if is_case_sensitive else tuple(name.casefold() for name in path)
            where, other, before = seen.setdefault(same, (file.path, path, kind))
            if kind != before or (kind != _OTHER and path != other):
                reason = f"column {'.'.join(path)} is {kind}, but {'.'.join(other)} of "
                reason += f"{where} is {before}; write one of them anew"
                raise SourceError(file.path, reason=reason)
    return {path: kind for _, path, kind in seen.values() if kind != _OTHER}


def _columns(file: SourceFile, fine: set[_Path]) -> Iterator[tuple[_Path, str]]:
    """Yield the columns of a file, and those that names of directories make (`year=2026`)."""
    try:
        with pq.ParquetFile(file.path, coerce_int96_timestamp_unit="s") as opened:
            for path, leaf in _leaves(_empty(opened.schema_arrow)):
                yield path, _kind(leaf.type, is_fine=path in fine)
    except (pa.ArrowException, OSError) as error:
        reason = f"cannot be read as Parquet: {str(error).strip().splitlines()[0]}"
        raise SourceError(file.path, reason=reason) from error
    below = PurePath(file.path).relative_to(file.directory) if file.directory else PurePath()
    yield from (((part.split("=")[0],), _OTHER) for part in below.parts[:-1] if "=" in part)


def _kind(kind: pa.DataType, *, is_fine: bool) -> str:
    """Return what a file has, read with INT96 as seconds, which Parquet itself does not have."""
    if not pa.types.is_timestamp(kind) or kind.unit not in ("s", "ns"):
        return _OTHER
    if kind.unit == "s":
        return _FINE if is_fine else _OTHER
    return _LOCAL if kind.tz is None else _UTC


def _empty(schema: pa.Schema) -> pa.Array:
    return pa.RecordBatch.from_pylist([], schema=schema).to_struct_array()


def _leaves(array: pa.Array, path: _Path = ()) -> Iterator[tuple[_Path, pa.Array]]:
    """Yield the columns that have no parts, and the parts of all others."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(array.storage, path)
    elif pa.types.is_struct(kind):
        for field, part in zip(kind, array.flatten(), strict=True):
            yield from _leaves(part, (*path, field.name))
    elif pa.types.is_map(kind):
        yield from _leaves(array.keys, (*path, "key"))
        yield from _leaves(array.items, (*path, "value"))
    elif pa.types.is_nested(kind):
        yield from _leaves(array.flatten(), (*path, "element"))
    else:
        yield path, array


def _replaced(frame: DataFrame, kinds: Kinds, leaf: _Leaf) -> DataFrame:
    """Return the frame with something else in place of each timestamp that counts nanoseconds."""
    return frame.withColumns(
        {
            field.name: _exact(column_named(field.name), field.dataType, (field.name,), kinds, leaf)
            for field in frame.schema
            if _is_around((field.name,), kinds)
        }
    )


def _is_around(path: _Path, kinds: Kinds) -> bool:
    return any(found[: len(path)] == path for found in kinds)


def _exact(column: Column, kind: DataType, path: _Path, kinds: Kinds, leaf: _Leaf) -> Column:
    if path in kinds:
        return leaf(column, kinds[path])
    if not _is_around(path, kinds):
        return column

    def part(column: Column, kind: DataType, name: str) -> Column:
        return _exact(column, kind, (*path, name), kinds, leaf)

    if isinstance(kind, StructType):
        members = [
            part(column.getField(field.name), field.dataType, field.name).alias(field.name)
            for field in kind
        ]
        return sql.when(column.isNotNull(), sql.struct(*members))
    if isinstance(kind, MapType):
        key, value = kind.keyType, kind.valueType
        is_number = isinstance(key, LongType | DecimalType)
        if not is_number and _is_around((*path, "key"), kinds):
            column = sql.transform_keys(column, lambda name, _: part(name, key, "key"))
        return sql.transform_values(column, lambda _, item: part(item, value, "value"))
    assert isinstance(kind, ArrayType)
    element = kind.elementType
    return sql.transform(column, lambda item: part(item, element, "element"))


def _as_number(int96: Column, _: str) -> Column:
    """Return the nanoseconds since 1970 of an INT96: nanoseconds of a day, 64 bits, and the day.

    The day counts from the start of the Julian period, in 32 bits. Both are little-endian.
    """
    digits = sql.regexp_replace(sql.hex(int96), "(..)" * _BYTES_OF_INT96, _BACKWARDS)
    day = sql.conv(sql.substr(digits, sql.lit(1), sql.lit(8)), 16, 10).cast("decimal(10,0)")
    of_day = sql.conv(sql.substr(digits, sql.lit(9)), 16, -10).cast("decimal(19,0)")
    return (day - _JULIAN_DAY_OF_1970) * sql.lit(_NANOS_OF_DAY).cast("decimal(14,0)") + of_day


def _as_text(nanos: Column, kind: str) -> Column:
    # Decimals, since `/` computes in doubles. Rounded down, since times before 1970 are below 0.
    micros = sql.floor(nanos.cast("decimal(26,0)") / 1000).cast("long")
    epoch = sql.lit("1970-01-01").cast("timestamp_ntz")
    local = sql.timestamp_add("MICROSECOND", micros, epoch)
    moment = sql.timestamp_micros(micros) if kind != _LOCAL else local
    return timestamp_json(moment, nanos=sql.pmod(nanos, sql.lit(1000)))
