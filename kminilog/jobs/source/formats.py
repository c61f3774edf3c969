"""CSV, JSON lines, lines of kcat: from bytes to the fields of records, exactly, or an error.

    csv    RFC 4180: quotes are doubled, fields may hold newlines; an empty field, quoted or not,
           is null; each record has as many fields as the first; lines without anything are skipped
    json   one object a line; a member that is a string is its text, null is null, and anything else
           (1.50, {"a": [1]}) is its text as it stands; blank lines are skipped
    kcat   a message as `kcat -J` prints it: its members key and payload are strings or null; blank
           lines are skipped

kcat writes each byte from 128 on as it is, also where a string is then no UTF-8. Such bytes are
kept as they are. But what kcat has decoded (-s avro) says no longer which bytes the message has.

A CSV record with a wrong number of fields is *rejected*. So are a JSON line that is not an object
or has too many levels, invalid UTF-8 in either format, and a line of kcat that does not say which
bytes key and payload have. A rejected record keeps its place, and has a reason instead of fields.
Some faults make it impossible to read on: a quote that is never closed, a header that differs, a
broken file. They raise SourceError. Bytes are never replaced.
Compressed files are decompressed, or refused (compression.py). This module is exact and slow;
csv_columns.py and json_columns.py are fast, and ask it wherever they are in doubt.

    {"k": "a", "x": [[1, 2], {}]}       3 levels
    1               2 3      3

How many levels a parser can read depends on the parser, and on how much of the stack is left. So a
line could be stored by one reader and rejected by another. Every reader can read MOST_LEVELS, and
none is asked to read more: the levels are counted before a line is parsed.

A record of text, CSV or JSON lines that is longer than LONGEST_BYTES ends the reading, with its
place. A message is not larger than its segment, and that has less than 2 GiB. Most topics take a
small part of that. A file of gigabytes without a newline is not what its reader takes it for, and
should not fill the memory. Source: ours; RFC 4180, RFC 8259, which allows a limit of levels.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count, islice, zip_longest
from typing import IO, Any, NamedTuple

import numpy as np

from kminilog.errors import SourceError
from kminilog.jobs.source.compression import open_decompressed
from kminilog.settings import INT64_MAX

# ---- how many levels a JSON line has


MOST_LEVELS = 512
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"')
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_too_deep(line: bytes) -> bool:
    """Tell if a JSON line has more than MOST_LEVELS levels.

    O(1) for lines up to that many bytes, O(bytes) for longer ones.

    >>> is_too_deep(b"[" * 512 + b"]" * 512), is_too_deep(b"[" * 513 + b"]" * 513)
    (False, True)
    >>> is_too_deep(b'["' + b"[" * 1000 + b'"]'), is_too_deep(b"[" + b"[]," * 1000)
    (False, False)
    """
    if len(line) <= MOST_LEVELS or line.count(b"[") + line.count(b"{") <= MOST_LEVELS:
        return False
    brackets = np.frombuffer(_STRING.sub(b"", line).translate(None, _NO_BRACKETS), np.uint8)
    steps = np.where((brackets == ord("[")) | (brackets == ord("{")), 1, -1)
    return bool(steps.cumsum().max(initial=0) > MOST_LEVELS)


# ---- the longest record


LONGEST_BYTES = 256 << 20


def rest_of_line(path: str, file: IO[bytes], position: int) -> bytes:
    """Return what follows in an open file, up to and with the next newline, or to the end.

    `position` is a byte of that line, for the SourceError if LONGEST_BYTES do not suffice.
    """
    rest = file.readline(LONGEST_BYTES + 1)
    if len(rest) > LONGEST_BYTES:
        raise _too_long(path, f"the line around byte {position}")
    return rest


def text_lines(path: str, file: IO[str], lines_before: int) -> Iterator[str]:
    """Yield the lines of an open file of text; `lines_before` stand in front of them.

    Raises SourceError for a line that is longer than LONGEST_BYTES.
    """
    for number in count(lines_before + 1):
        line = file.readline(LONGEST_BYTES + 1)
        if len(line) > LONGEST_BYTES:
            raise _too_long(path, f"line {number}")
        if not line:
            return
        yield line


def _too_long(path: str, what: str) -> SourceError:
    reason = f"{what} is longer than {LONGEST_BYTES} bytes; is that the format of the file?"
    return SourceError(path, reason=reason)


# ---- fields of records


BATCH_ROWS = 4096
_BYTE_ORDER_MARK = "\ufeff"
_SEPARATORS = re.compile(r"[ \t\n\r,:]*")


class ParsedRecords(NamedTuple):
    """The fields of some CSV records in file order, and why each one is rejected, or None.

    A rejected record has only None as fields.
    """

    fields: list[list[str | None]]
    rejected: list[str | None]


def check_header(path: str, columns: list[str]) -> None:
    """Raise SourceError if a CSV file has a first record, and that is not these columns."""
    with open_decompressed(path) as file, _csv_reader(path, file) as reader:
        if (found := _header(reader)) and found != columns:
            pairs = enumerate(zip_longest(found, columns), 1)
            number, (here, first) = next((n, pair) for n, pair in pairs if pair[0] != pair[1])
            reason = f"column {number} of its header is {here!r}, that of the first file {first!r}"
            raise SourceError(path, reason=reason)


def csv_records(
    path: str,
    file: IO[bytes],
    width: int,
    *,
    skip: int = 0,
    lines_before: int = 0,
    encoding: str = "utf-8-sig",
) -> Iterator[ParsedRecords]:
    """Yield the records that follow in an open CSV file, without the first `skip`.

    Each should have `width` fields. Raises SourceError for a file that cannot be read to its end;
    `lines_before` counts the lines in front of it, for the line in that error. After the beginning
    of a file, `encoding` is utf-8: only there is a byte order mark no part of the first field.
    """
    with _csv_reader(path, file, lines_before=lines_before, encoding=encoding) as reader:
        records = islice(filter(None, reader), skip, None)
        while chunk := list(islice(records, BATCH_ROWS)):
            rejected = [_csv_fault(record, width) for record in chunk]
            absent: list[str | None] = [None] * width
            fields = [
                absent if fault else [field or None for field in record]
                for record, fault in zip(chunk, rejected, strict=True)
            ]
            yield ParsedRecords(fields, rejected)


def csv_columns(paths: Iterable[str], *, header: bool) -> list[str]:
    """Return the names in the first record of CSV files; `_c0`, `_c1` … without a header.

    Files without any record, which have no header either, are passed over; if all are, there are no
    columns. An empty name becomes `_c` and its number, with another `_` in front if that is taken.
    Raises SourceError if a name in a header occurs twice or is not valid UTF-8, and for a file that
    cannot be read.
    """
    return next(filter(None, (_columns(path, header=header) for path in paths)), [])


def _columns(path: str, *, header: bool) -> list[str]:
    with open_decompressed(path) as file, _csv_reader(path, file) as reader:
        names = _header(reader)
    if not header:
        return [f"_c{slot}" for slot in range(len(names))]
    for name in names:
        if names.count(name) > 1:
            raise SourceError(path, reason=f"its header names the column {name!r} twice")
    if not _is_unicode(names):
        raise SourceError(path, reason="its header is not valid UTF-8")
    return names


def json_members(text: str, names: Sequence[str]) -> dict[str, str | None]:
    """Return the members of a JSON object with these names, as text; null is None.

    A name that it does not have is left out; `a.b` is the member b of the member a, if there is no
    member `a.b`. Numbers, lists and objects stay as they are written. Of a name that occurs twice,
    the last value counts. Raises ValueError if the text is not one object, or if anything follows
    the object.

    >>> json_members('{"a": "x", "b": 1.50, "c": {"d": [1, 2]}, "e": null}', "abcef")
    {'a': 'x', 'b': '1.50', 'c': '{"d": [1, 2]}', 'e': None}
    >>> json_members('{"user": {"id": 7.0}}', ["user.id", "user.name"])
    {'user.id': '7.0'}
    """
    members = _DECODER.decode(text)
    if not isinstance(members, dict):
        raise ValueError("not an object")
    if any(isinstance(value, dict | list) for value in members.values()):
        raw = dict(_raw_members(text))
    found: dict[str, str | None] = {}
    for name in names:
        outer, inner = member_path(members, name)
        value = members.get(outer)
        if inner:
            inside = json_members(raw[outer], [inner])
            if inner in inside:
                found[name] = inside[inner]
        elif isinstance(value, dict | list):
            found[name] = raw[outer]
        elif outer in members:
            found[name] = _BOOLEANS.get(value, value)
    return found


def member_path(members: dict[str, Any], name: str) -> tuple[str, str]:
    """Return the member that has a name, and what is to be looked for in it: mostly nothing.

    >>> member_path({"a": {"b": 1}}, "a.b"), member_path({"a.b": 1, "a": {}}, "a.b")
    (('a', 'b'), ('a.b', ''))
    >>> member_path({"a": {}, "a.b": {"c": 1}}, "a.b.c")
    ('a.b', 'c')
    """
    if name not in members:
        for end in (place for place, sign in enumerate(name) if sign == "."):
            outer, inner = members.get(name[:end]), name[end + 1 :]
            if isinstance(outer, dict) and member_path(outer, inner)[0] in outer:
                return name[:end], inner
    return name, ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# Numbers are parsed as text, so that they stay as they are written.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse_constant)
_BOOLEANS: dict[object, str] = {True: "true", False: "false"}


def _raw_members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names of an object's members, and their values as they are written."""
    at = _after_separators(text, text.index("{") + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        start = _after_separators(text, end)
        _, end = _DECODER.raw_decode(text, start)
        yield name, text[start:end]
        at = _after_separators(text, end)


def _after_separators(text: str, at: int) -> int:
    separators = _SEPARATORS.match(text, at)
    assert separators is not None  # it matches nothing at all, too
    return separators.end()


def _header(reader: Iterator[list[str]]) -> list[str]:
    names = next(filter(None, reader), [])
    return [name or _free_name(f"_c{slot}", names) for slot, name in enumerate(names)]


def _free_name(name: str, names: Sequence[str]) -> str:
    return name if name not in names else _free_name(f"_{name}", names)


def _csv_fault(record: list[str], width: int) -> str | None:
    if len(record) != width:
        return f"it has {len(record)} fields, not {width}"
    return None if _is_unicode(record) else "it is not valid UTF-8"


def _is_unicode(texts: list[str]) -> bool:
    """Tell if texts have no lone surrogate; `_csv_reader` reads an invalid byte as one."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def json_object(line: bytes, names: Sequence[str], *, is_first: bool) -> dict[str, str | None]:
    """Return the members of a JSON line; `is_first`: a byte order mark may stand in front of it.

    Raises what `json_members` does, and RecursionError.
    """
    return json_members(line.decode().removeprefix(_BYTE_ORDER_MARK if is_first else ""), names)


def json_fields(
    line: bytes, columns: list[str], *, is_first: bool
) -> tuple[list[str | None], str | None]:
    """Return the members of a JSON line with these names, and why it is rejected or None.

    A rejected line has None for all members.
    """
    if is_too_deep(line):
        return [None] * len(columns), f"its objects and lists have more than {MOST_LEVELS} levels"
    try:
        members = json_object(line, columns, is_first=is_first)
        fields = [members.get(column) for column in columns]
        "".join(filter(None, fields)).encode()  # an escape may name a lone surrogate
    except (ValueError, RecursionError) as error:
        return [None] * len(columns), f"it is no JSON object: {error}"
    return fields, None


class KcatMessage(NamedTuple):
    """A message as `kcat -J` tells it; partition and offset are None if the line has none."""

    key: bytes | None
    payload: bytes | None
    partition: int | None
    offset: int | None


KCAT_DECODED = ("key_error", "key_schema_id", "payload_error", "value_schema_id")
"""The members by which kcat says that a key or a payload is not as the message has it."""


def _integer(digits: str) -> float:
    """Return an int, or a float for more digits than 64 bits have; Python limits an int."""
    return int(digits) if len(digits) <= _INT64_DIGITS else float(digits)


_INT64_DIGITS = len(str(-INT64_MAX))
_KCAT_DECODER = json.JSONDecoder(parse_int=_integer, parse_constant=_refuse_constant)
_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")


def kcat_message(line: bytes, *, is_first: bool) -> KcatMessage:
    r"""Return the message of a line that `kcat -J` has printed.

    `is_first`: a byte order mark may stand in front of it. Raises ValueError, in one line, for a
    line that does not say which bytes key and payload have, and RecursionError.

    >>> kcat_message(b'{"offset": 7, "key": null, "payload": "a\\u0000\xff"}', is_first=False)
    KcatMessage(key=None, payload=b'a\x00\xff', partition=None, offset=7)
    """
    if is_too_deep(line):
        raise ValueError(f"its objects and lists have more than {MOST_LEVELS} levels")
    text = line.decode("utf-8", "surrogateescape").removeprefix(_BYTE_ORDER_MARK * is_first)
    members = _KCAT_DECODER.decode(text)
    if not isinstance(members, dict):
        raise ValueError("not an object")
    if decoded := [name for name in KCAT_DECODED if name in members]:
        raise ValueError(f"its {decoded[0]} says that kcat has decoded it; leave out `-s avro`")
    is_utf8 = _is_unicode([text])
    if not is_utf8 and _SURROGATE.search(line):
        raise ValueError("it is not valid UTF-8, and has escapes of halves of pairs")
    how = "strict" if is_utf8 else "surrogateescape"
    key, payload = (_kcat_bytes(members, name, how) for name in ("key", "payload"))
    partition, offset = (natural(members.get(name)) for name in ("partition", "offset"))
    return KcatMessage(key, payload, partition, offset)


def _kcat_bytes(members: dict[str, Any], name: str, how: str) -> bytes | None:
    if name not in members:
        raise ValueError(f"it has no member {name!r}")
    value = members[name]
    if not isinstance(value, str | None):
        raise ValueError(f"its {name} is no string, so nobody knows its bytes")
    return None if value is None else value.encode("utf-8", how)


def natural(value: object) -> int | None:
    """Return a value that may be a partition or an offset; None for any other one."""
    return value if type(value) is int and 0 <= value <= INT64_MAX else None


@contextmanager
def _csv_reader(
    path: str, file: IO[bytes], *, lines_before: int = 0, encoding: str = "utf-8-sig"
) -> Iterator[Any]:
    csv.field_size_limit(LONGEST_BYTES)
    text = io.TextIOWrapper(file, encoding, errors="surrogateescape", newline="")
    reader = csv.reader(text_lines(path, text, lines_before), strict=True)
    try:
        yield reader
    except csv.Error as error:
        line = lines_before + reader.line_num
        hint = "; is a quote never closed?" if "limit" in str(error) else ""
        raise SourceError(path, reason=f"line {line}: {error}{hint}") from None
    finally:
        text.detach()  # whoever opened the file closes it
