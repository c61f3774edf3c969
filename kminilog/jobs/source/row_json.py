"""Arrow columns as texts: what a key or a value is made of, and rows as JSON in which nothing is
lost.

    text                   its characters                      "é"
    bytes                  themselves; in JSON base64          "/w=="
    whole and decimal      their digits                        18446744073709551615    1.10
    floating point         as few digits as give it back       0.1        "NaN"        "-Infinity"
    date, time             ISO 8601                            "2026-01-02"            "03:04:05"
    timestamp              three, six or nine digits after     "2026-01-02T03:04:05.123Z"
                           the second; in UTC, or local
    struct, list, map      JSON; a key of a map is a text      {"a":null}   [1,2]      {"k":1}

A key or a value that is one column has the same text, without the quotes. A date or a timestamp
after the year 32767 is the number of days, or of the units of its column, since 1970. All is done
column by column, except base64. This module does not know which file a column is from. Source:
ours; RFC 8259.
"""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SHORT_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_ESCAPES = {chr(number): f"\\u{number:04X}" for number in range(ord(" "))} | _SHORT_ESCAPES
_NO_TEXT = pa.scalar(None, pa.string())
_IN_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_MANY_DIGITS = r"(\.\d{3}\d*?)(000)+$"
kinds = pa.types


def row_json(names: Sequence[str], columns: Sequence[Any]) -> Any:
    """Return each row as a JSON object, an Arrow column of bytes; null is `null`. O(bytes).

    >>> columns = pa.array([1, None]), pa.array(['say "x"', None])
    >>> row_json(["n", "t"], columns).to_pylist()
    [b'{"n":1,"t":"say \\\\"x\\\\""}', b'{"n":null,"t":null}']
    """
    return _object(names, columns).cast(pa.binary())


def as_bytes(column: Any) -> Any:
    """Return each value of a column as the bytes of a key or a value; null stays null. O(bytes).

    >>> as_bytes(pa.array([1.5, None])).to_pylist(), as_bytes(pa.array([[1, None]])).to_pylist()
    ([b'1.5', None], [b'[1,null]'])
    """
    column = _plain(column)
    if _is_bytes(column.type):
        return column.cast(pa.binary())
    if kinds.is_nested(column.type):
        return _json(column).cast(pa.binary())
    return _text(column)[0].cast(pa.binary())


def _object(names: Sequence[str], columns: Sequence[Any]) -> Any:
    parts: list[Any] = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        quoted = _escaped(pa.array([name], pa.string()))[0].as_py()
        parts += ["," if number else "{", f'"{quoted}":', pc.fill_null(_json(column), "null")]
    return pc.binary_join_element_wise(*parts, "}", "")


def _json(column: Any) -> Any:
    """Return each value as JSON; null stays null."""
    column = _plain(column)
    kind = column.type
    if kinds.is_struct(kind):
        names = [kind.field(number).name for number in range(kind.num_fields)]
        return pc.if_else(column.is_valid(), _object(names, column.flatten()), _NO_TEXT)
    if kinds.is_map(kind):
        return _map_json(column)
    if kinds.is_nested(kind):
        elements = pc.fill_null(_json(column.flatten()), "null")
        return _joined("[", _as_list(column, elements), "]")
    if _is_bytes(kind):
        values = column.to_pylist()
        encoded = [None if value is None else b64encode(value).decode() for value in values]
        return _joined('"', pa.array(encoded, pa.string()), '"')
    text, is_quoted = _text(column)
    if is_quoted is False:
        return text
    quoted = _joined('"', _escaped(text) if kinds.is_string(kind) else text, '"')
    return quoted if is_quoted is True else pc.if_else(is_quoted, quoted, text)


def _map_json(column: Any) -> Any:
    borders = column.offsets
    first, count = borders[0].as_py(), borders[-1].as_py() - borders[0].as_py()
    keys, items = column.keys.slice(first, count), column.items.slice(first, count)
    names = _json(keys)
    names = pc.if_else(pc.starts_with(names, '"'), names, _joined('"', _escaped(names), '"'))
    pairs = pc.binary_join_element_wise(names, pc.fill_null(_json(items), "null"), ":")
    lists = pa.ListArray.from_arrays(pc.subtract(borders, borders[0]), pairs)
    texts = pc.if_else(column.is_valid(), pc.binary_join(lists, ","), _NO_TEXT)
    return _joined("{", texts, "}")


def _as_list(lists: Any, texts: Any) -> Any:
    """Return the texts of each list, with commas between them; null for a list that is null."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    joined = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), ",")
    return pc.if_else(lists.is_valid(), joined, _NO_TEXT)


def _joined(before: str, texts: Any, after: str) -> Any:
    return pc.binary_join_element_wise(before, texts, after, "")


def _plain(column: Any) -> Any:
    """Return a column without an encoding or a meaning of its own, and texts and bytes as such."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return _plain(column.storage)
    if kinds.is_dictionary(kind):
        return _plain(column.cast(kind.value_type))
    if kinds.is_large_string(kind) or kinds.is_string_view(kind):
        return column.cast(pa.string())
    return column


def _is_bytes(kind: Any) -> bool:
    of_any_length = kinds.is_binary(kind) or kinds.is_large_binary(kind)
    return bool(of_any_length or kinds.is_binary_view(kind) or kinds.is_fixed_size_binary(kind))


def _text(column: Any) -> tuple[Any, Any]:
    """Return the text of each value, and whether it has quotes in JSON: one answer, or a column."""
    kind = column.type
    text = _timestamp(column) if kinds.is_timestamp(kind) else column.cast(pa.string())
    if kinds.is_string(kind):
        return text, True
    if kinds.is_floating(kind):
        is_number = pc.fill_null(pc.is_finite(column), True)
        if pc.all(is_number).as_py() is not False:
            return text, False
        for arrows, words in _IN_WORDS.items():
            text = pc.if_else(pc.equal(text, arrows), words, text)
        return text, pc.invert(is_number)
    if kinds.is_date(kind) or kinds.is_timestamp(kind):
        is_far = pc.fill_null(pc.starts_with(text, "<"), False)  # Arrow has no year for it
        if pc.any(is_far).as_py():
            numbers = column.cast(pa.int32() if kinds.is_date32(kind) else pa.int64())
            return pc.if_else(is_far, numbers.cast(pa.string()), text), pc.invert(is_far)
        return text, True
    return text, kinds.is_time(kind)


def _timestamp(column: Any) -> Any:
    text = column.cast(pa.timestamp(column.type.unit)).cast(pa.string())  # in UTC
    text = pc.replace_substring(text, " ", "T")
    if column.type.unit == "s":
        text = _joined("", text, ".000")
    elif column.type.unit != "ms":
        text = pc.replace_substring_regex(text, _MANY_DIGITS, r"\1")
    return text if column.type.tz is None else _joined("", text, "Z")


def _escaped(column: Any) -> Any:
    found = _data(column)
    if not len(found):
        return column
    if (found == ord("\\")).any():
        column = pc.replace_substring(column, "\\", "\\\\")
    if (found == ord('"')).any():
        column = pc.replace_substring(column, '"', '\\"')
    if found.min() < ord(" "):
        for sign, escape in _ESCAPES.items():
            column = pc.replace_substring(column, sign, escape)
    return column


def _data(texts: Any) -> Any:
    """Return the bytes of a column of texts: a slice shares the buffer of its whole column."""
    _, offsets, data = texts.buffers()
    if data is None or not len(texts):
        return np.empty(0, np.uint8)
    borders = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return np.frombuffer(data, np.uint8)[borders[0] : borders[-1]]
