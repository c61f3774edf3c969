"""Members of JSON lines, and of kcat's, as Arrow columns: by a fast parser, in doubt by the exact
one.

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
    KCAT_DECODED,
    MOST_LEVELS,
    KcatMessage,
    is_too_deep,
    json_fields,
    json_object,
    kcat_message,
    member_path,
    natural,
)

_DECODED = frozenset(KCAT_DECODED)
_NO_MESSAGE = KcatMessage(None, None, None, None)
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


class KcatColumns(NamedTuple):
    """The messages of some lines of kcat: which lines are not blank, and what is in these.

    The columns are those of `KcatMessage`; `rejected` are the reasons, or null.
    """

    kept: NDArray[np.bool_]
    key: Any
    payload: Any
    partition: Any
    offset: Any
    rejected: Any


def messages_of(lines: Any, *, is_first: bool) -> KcatColumns:
    """Return the messages of lines that `kcat -J` has printed, an Arrow column of bytes.

    `is_first` says that a file begins with the first line. O(bytes), with a Python object for each
    line.
    """
    kept = np.ones(len(lines), np.bool_)
    found: list[KcatMessage] = []
    rejected: list[str | None] = []
    for number, line in enumerate(lines.to_pylist()):
        message, reason = _fast_message(line), None
        if message is None:
            if not line.strip():
                kept[number] = False
                continue
            try:
                message = kcat_message(line, is_first=is_first and number == 0)
            except (ValueError, RecursionError) as error:
                message, reason = _NO_MESSAGE, f"it is no line of kcat -J: {error}"
        found.append(message)
        rejected.append(reason)
    key, payload, partition, offset = zip(*found, strict=True) if found else [()] * 4
    return KcatColumns(
        kept,
        pa.array(key, pa.binary()),
        pa.array(payload, pa.binary()),
        pa.array(partition, pa.int64()),
        pa.array(offset, pa.int64()),
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


def _fast_object(line: bytes) -> dict[str, Any] | None:
    """Return an object that orjson reads as the exact parser would; None if it may not."""
    if len(line) > _SHALLOW_BYTES and is_too_deep(line):
        return None
    try:
        members = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return members if type(members) is dict else None


def _fast_message(line: bytes) -> KcatMessage | None:
    """Return the message of a line of kcat; None if the exact parser must say."""
    members = _fast_object(line)
    if members is None or not _DECODED.isdisjoint(members):
        return None
    texts = members.get("key", 0), members.get("payload", 0)
    if any(type(text) is not str and text is not None for text in texts):
        return None
    key, payload = (None if text is None else text.encode() for text in texts)
    return KcatMessage(
        key, payload, natural(members.get("partition")), natural(members.get("offset"))
    )


def _fast(line: bytes, names: list[str]) -> list[str | None] | None:
    """Return the members of an object that orjson reads exactly; None if it may not."""
    members = _fast_object(line)
    if members is None:
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
