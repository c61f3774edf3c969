"""Members of JSON lines, and of kcat's, as Arrow columns: by a fast parser, in doubt by the exact
one.

`formats` says what a member's text is: a number stays as it is written, and a line that is no
object is rejected with its reason. msgspec yields the wanted members as they are written, and only
passes over the others. It refuses more than the exact parser, and says less about it, and it does
not see bad UTF-8 in what it passes over. So the UTF-8 of all lines is checked first, and what
msgspec refuses goes to `formats`. Tests compare the two. Source: ours; RFC 8259; msgspec parses.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw, Struct, defstruct
from msgspec.json import Decoder, decode, encode
from msgspec.structs import astuple
from numpy.typing import NDArray

from kminilog.jobs.source.formats import (
    MOST_LEVELS,
    KcatMessage,
    is_too_deep,
    json_fields,
    json_object,
    kcat_message,
    natural,
)

_NO_MESSAGE = KcatMessage(None, None, None, None)
_ABSENT = Raw(b"")
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
    reader = _reader(tuple(names))
    kept = np.ones(len(lines), np.bool_)
    rows: list[Any] = []
    rejected: list[str | None] = []
    for number, (line, is_sure) in enumerate(_with_certainty(lines)):
        row, reason = reader.row(line) if is_sure else None, None
        if row is None:
            if not line.strip():
                kept[number] = False
                continue
            fields, reason = json_fields(line, names, is_first=is_first and number == 0)
            row = reader.row_of(fields)
        rows.append(row)
        rejected.append(reason)
    return Members(kept, reader.columns(rows), pa.array(rejected, pa.string()))


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
    for number, (line, is_sure) in enumerate(_with_certainty(lines)):
        message, reason = _fast_message(line) if is_sure else None, None
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


def _with_certainty(lines: Any) -> Iterable[tuple[bytes, bool]]:
    """Return lines, and whether msgspec reads each as the exact parser does, or refuses it."""
    found = lines.to_pylist()
    is_sure = pc.less_equal(pc.binary_length(lines), _SHALLOW_BYTES).to_pylist()
    for number in np.flatnonzero(~np.array(is_sure, np.bool_)).tolist():
        is_sure[number] = not is_too_deep(found[number])
    try:
        lines.cast(pa.string())
    except pa.ArrowInvalid:
        is_sure = [sure and _is_utf8(line) for sure, line in zip(is_sure, found, strict=True)]
    return zip(found, is_sure, strict=True)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


# ---- members as they are written


class _Reader:
    """Reads the members with some names of JSON objects; `a.b` is the member b of the member a.

    A row has them as they are written, without memory that Python's collector has to look at.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        inner = [
            (name, name[:end], _reader((name[end + 1 :],)))
            for name in names
            for end, sign in enumerate(name)
            if sign == "."
        ]
        wanted = dict.fromkeys([*names, *(outer for _, outer, _ in inner)])
        field = {name: f"member_{slot}" for slot, name in enumerate(wanted)}
        self._fields = [field[name] for name in names]
        self._inner = [(field[name], field[outer], reader) for name, outer, reader in inner]
        fields = [(one, Raw, _ABSENT) for one in field.values()]
        self._row: Callable[..., Any] = defstruct("Row", fields, gc=False)
        renamed = {one: name for name, one in field.items()}
        self._decode: Callable[[bytes], Any] = _refuse
        with suppress(ValueError):  # a name that needs an escape
            self._decode = Decoder(defstruct("Row", fields, rename=renamed, gc=False)).decode

    def row(self, line: bytes) -> Any:
        """Return the members of an object; None if msgspec refuses it."""
        try:
            row = self._decode(line)
        except (ValueError, RecursionError):
            return None
        for field, outer, reader in self._inner:
            there = bytes(getattr(row, outer))
            if getattr(row, field) == _ABSENT and there.startswith(b"{"):
                inside = reader.row(there)
                if inside is None:
                    return None
                setattr(row, field, getattr(inside, *reader._fields))
        return row

    def row_of(self, texts: Sequence[str | None]) -> Any:
        """Return a row whose members have these texts, or null."""
        return self._row(**dict(zip(self._fields, map(Raw, map(encode, texts)), strict=True)))

    def columns(self, rows: Sequence[Any]) -> list[Any]:
        """Return the members of rows as Arrow columns of texts."""
        return [_texts([*map(bytes, map(attrgetter(field), rows))]) for field in self._fields]


_reader = lru_cache(_Reader)


def _refuse(line: bytes) -> Any:
    raise ValueError


def _texts(members: Sequence[bytes]) -> Any:
    """Return the texts of members as an Arrow column; null for what is null, or absent."""
    raw = pa.array(members, pa.binary())
    is_text = pc.starts_with(raw, b'"')
    texts = pc.if_else(is_text, pc.binary_slice(raw, 1, -1), raw)
    is_escaped = pc.and_(is_text, pc.match_substring(raw, b"\\"))
    escaped = map(decode, raw.filter(is_escaped).to_pylist())
    unescaped = pa.array([text.encode() for text in escaped], pa.binary())
    texts = pc.replace_with_mask(texts, is_escaped, unescaped)
    is_null = pc.is_in(raw, pa.array([b"", b"null"]))
    return pc.if_else(is_null, None, texts).view(pa.string())


# ---- lines of kcat


class _KcatLine(Struct, gc=False):
    """A line of kcat; the last fields are KCAT_DECODED."""

    key: str | None
    payload: str | None
    partition: object = None
    offset: object = None
    key_error: Raw = _ABSENT
    key_schema_id: Raw = _ABSENT
    payload_error: Raw = _ABSENT
    value_schema_id: Raw = _ABSENT


_KCAT = Decoder(_KcatLine)


def _fast_message(line: bytes) -> KcatMessage | None:
    """Return the message of a line of kcat; None if the exact parser must say."""
    try:
        key, payload, partition, offset, *decoded = astuple(_KCAT.decode(line))
    except (ValueError, RecursionError):
        return None
    if any(one != _ABSENT for one in decoded):
        return None
    key, payload = (None if text is None else text.encode() for text in (key, payload))
    return KcatMessage(key, payload, natural(partition), natural(offset))
