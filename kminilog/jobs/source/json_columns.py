"""Members of JSON lines as Arrow columns, by a fast parser; in doubt, by the exact one.

`formats` says what a member's text is: a number stays as it is written, and a line that is no
object is rejected with its reason. orjson does not keep how a number was written, and its reasons
are others. So it only decides where the answer cannot differ: a line is an object, and the wanted
members are texts, truth values or null. Every other line goes to `formats`. Tests compare the two.
Source: ours; RFC 8259; orjson parses.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from kminilog.jobs.source.formats import (
    MOST_LEVELS,
    is_too_deep,
    json_fields,
    json_object,
    member_path,
)

_BOOLEANS = {True: "true", False: "false"}
_SHALLOW_BYTES = 2 * MOST_LEVELS  # of an object that is no longer, not more levels begin and end


class Members(NamedTuple):
    """The wanted members of some lines: which lines are not blank, and what is in these.

    `columns` has an Arrow column of texts for each wanted name, `rejected` the reasons. Both have
    an entry for each line that is not blank.
    """

    kept: NDArray[np.bool_]
    columns: list[Any]
    rejected: Any


def members_of(lines: Any, names: list[str], *, is_first: bool) -> Members:
    """Return the members with these names of JSON lines, an Arrow column of bytes.

    `is_first` says that a file begins with the first line, which may have a byte order mark then.
    O(bytes), with a Python object for each line.
    """
    kept = np.ones(len(lines), np.bool_)
    rows: list[Sequence[str | None]] = []
    rejected: list[str | None] = []
    for number, line in enumerate(lines.to_pylist()):
        reason = None
        fields = _fast(line, names)
        if fields is None:
            if not line.strip():
                kept[number] = False
                continue
            fields, reason = json_fields(line, names, is_first=is_first and number == 0)
        rows.append(fields)
        rejected.append(reason)
    columns = zip(*rows, strict=True) if rows else [()] * len(names)
    return Members(
        kept,
        [pa.array(column, pa.string()) for column in columns],
        pa.array(rejected, pa.string()),
    )


def has_member(lines: Any, name: str) -> bool:
    """Tell if one of some JSON lines has a member with this name, even if it is null.

    O(bytes); only lines that hold the name, or an escaped letter, cost a Python object.
    """
    inner = name.rpartition(".")[2].encode()
    may_have = pc.or_(pc.match_substring(lines, inner), pc.match_substring(lines, rb"\u"))
    for line in lines.filter(may_have).to_pylist():
        with suppress(ValueError, RecursionError):
            if name in json_object(line, [name], is_first=True):
                return True
    return False


def _fast(line: bytes, names: list[str]) -> list[str | None] | None:
    """Return the members of an object that orjson reads exactly; None if it may not."""
    if len(line) > _SHALLOW_BYTES and is_too_deep(line):
        return None
    try:
        members = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    if type(members) is not dict:
        return None
    fields = []
    for name in names:
        value = members.get(name)
        if value is None and "." in name:
            value = _inner(members, name)
        if value is True or value is False:
            value = _BOOLEANS[value]
        elif value is not None and type(value) is not str:
            return None
        fields.append(value)
    return fields


def _inner(members: dict[str, Any], name: str) -> Any:
    outer, inner = member_path(members, name)
    return _inner(members[outer], inner) if inner else members.get(outer)
