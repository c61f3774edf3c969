"""A row, or a value that has parts, as JSON that loses nothing.

Spark's `to_json` loses members that are null, digits of timestamps, and some keys of maps. All else
is written as `to_json` writes it:

    null                         null; `to_json` leaves the member out
    a timestamp                  three digits after the seconds, as `to_json` writes; six if it
                                 needs them
    bytes as a key of a map      base64, like other bytes; `to_json` writes an address in memory
    parts as a key of a map      their JSON, as a text; `to_json` writes an address in memory

This module does not know what the row is. Source: ours; Spark's JSON.
"""

from pyspark.sql import Column
from pyspark.sql import functions as sql
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

_NULLS = {"ignoreNullFields": "false"}
_SIX_DIGITS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
_FORMATS = {"timestampFormat": f"{_SIX_DIGITS}XXX", "timestampNTZFormat": _SIX_DIGITS}
_NEEDLESS = r"(\.\d{3}\d*?)(000)+(?!\d)"
_BEFORE, _BEHIND = '{"t":"', '"}'


def column_named(name: str) -> Column:
    """Return the column with exactly this name; dots and backquotes in it have no meaning."""
    return sql.col("`" + name.replace("`", "``") + "`")


def row_json(column: Column, kind: DataType) -> Column:
    """Return the JSON of a column, as bytes.

    `kind` is the column's type: struct, array, map or variant. Null stays null.
    """
    return _json(column, kind).cast("binary")


def _json(column: Column, kind: DataType) -> Column:
    return sql.to_json(_exact(column, kind), _NULLS)


def _exact(column: Column, kind: DataType) -> Column:
    """Return the column with a text in place of each part that `to_json` would not keep whole."""
    if _is_exact(kind):
        return column
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return sql.transform(column, lambda item: _exact(item, element))
    if isinstance(kind, MapType):
        key, value = kind.keyType, kind.valueType
        if isinstance(key, BinaryType):
            column = sql.transform_keys(column, lambda name, _: sql.base64(name))
        elif _has_parts(key):
            column = sql.transform_keys(column, lambda name, _: _json(name, key))
        return sql.transform_values(column, lambda _, item: _exact(item, value))
    if isinstance(kind, StructType):
        members = [
            _exact(column.getField(field.name), field.dataType).alias(field.name) for field in kind
        ]
        return sql.when(column.isNotNull(), sql.struct(*members))
    return timestamp_json(column)


def _is_exact(kind: DataType) -> bool:
    """Return whether `to_json` loses nothing of such a column, apart from nulls."""
    if isinstance(kind, ArrayType):
        return _is_exact(kind.elementType)
    if isinstance(kind, MapType):  # a timestamp as a key is a number there
        is_text = not isinstance(kind.keyType, BinaryType) and not _has_parts(kind.keyType)
        return is_text and _is_exact(kind.valueType)
    if isinstance(kind, StructType):
        return all(_is_exact(field.dataType) for field in kind)
    return not isinstance(kind, TimestampType | TimestampNTZType)


def _has_parts(kind: DataType) -> bool:
    return isinstance(kind, ArrayType | MapType | StructType)


def timestamp_json(column: Column, nanos: Column | None = None) -> Column:
    """Return a timestamp as the text that `to_json` writes, with all the digits that it needs.

    These are three digits after the seconds, or six. With `nanos`, the nanoseconds that follow its
    microseconds (0 to 999), there may be nine. Null stays null.
    """
    text = sql.to_json(sql.struct(column.alias("t")), _FORMATS)
    around = len(_BEFORE) + len(_BEHIND)
    bare = sql.substr(text, sql.lit(len(_BEFORE) + 1), sql.length(text) - around)
    if nanos is not None:
        more = sql.concat(sql.lit("$1"), sql.lpad(nanos.cast("string"), 3, "0"))
        bare = sql.regexp_replace(bare, sql.lit(r"(\.\d{6})"), more)
    return sql.when(column.isNotNull(), sql.regexp_replace(bare, _NEEDLESS, "$1"))
