"""Text, CSV and JSON lines: from the bytes of one file to records, exactly, or an error.

    text   lines end at \\n only and keep every byte; what follows the last \\n is a line too
    csv    RFC 4180: quotes are doubled, fields may hold newlines; an empty field, quoted or not,
           is null; each record has as many fields as the first; lines without anything are skipped
    json   one object a line; a member that is a string is its text, null is null, and anything else
           (1.50, {"a": [1]}) is its text as it stands; blank lines are skipped

A CSV record with a wrong number of fields is *rejected*. So are a JSON line that is not an object
or has too many levels (json_levels.py), and invalid UTF-8 in either format. A rejected record keeps
its place, and has a reason instead of fields. Some faults make it impossible to read on: a quote
that is never closed, a header that differs, a broken file. They raise SourceError. Bytes are never
replaced. Spark's own readers do not keep these promises: its text reader drops a byte order mark,
the others replace bytes and re-write numbers. Compressed files are decompressed, or refused
(compression.py). This module does not know Spark. Source: ours; RFC 4180, RFC 8259.
"""

import csv
import io
import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate, islice
from typing import IO, Any, NamedTuple

from kminilog.job_errors import SourceError
from kminilog.source.compression import open_decompressed
from kminilog.source.json_levels import MOST_LEVELS, is_too_deep
from kminilog.source.longest_record import LONGEST_BYTES, rest_of_line, text_lines

BATCH_BYTES = 1 << 20
BATCH_ROWS = 4096
_BYTE_ORDER_MARK = "\ufeff"
_SEPARATORS = re.compile(r"[ \t\n\r,:]*")


class Records(NamedTuple):
    """Some records in file order.

    `positions` says where their lines begin (0 in CSV). `rows` has their ordinals, counted from
    where reading began. `lines` has the raw lines; it is empty for CSV. `fields` has a row for each
    record, with only None where `rejected` has a reason. Both are empty for text, which rejects
    nothing.
    """

    positions: list[int]
    rows: list[int]
    lines: list[bytes]
    fields: list[list[str | None]]
    rejected: list[str | None]


def read_text(path: str, start: int = 0, end: int = sys.maxsize) -> Iterator[Records]:
    """Yield the lines that begin at byte `start` or after it, and before byte `end`.

    So a file can be read in pieces: each line belongs to exactly one piece. Memory stays at about
    BATCH_BYTES, or at a few times the longest line. A compressed file needs `start` 0, since it
    cannot `seek`. Raises SourceError for a file that cannot be read, or has a line that is too long
    (longest_record.py).
    """
    with open_decompressed(path) as file:
        position = start
        if start:
            file.seek(start - 1)
            position += len(rest_of_line(path, file, start)) - 1
        row = 0
        while position < end and (data := file.read(BATCH_BYTES)):
            if not data.endswith(b"\n"):
                data += rest_of_line(path, file, position + len(data))
            lines = data.removesuffix(b"\n").split(b"\n")
            starts = list(accumulate((len(line) + 1 for line in lines), initial=position))
            position += len(data)
            count = sum(start < end for start in starts[:-1])
            yield Records(starts[:count], list(range(row, row + count)), lines[:count], [], [])
            row += count


def read_json(
    path: str, columns: list[str], start: int = 0, end: int = sys.maxsize
) -> Iterator[Records]:
    """Yield the objects of the lines that `read_text` would yield, with these members as fields.

    A member that an object lacks is None. Blank lines are skipped. Raises SourceError as
    `read_text` does.
    """
    for positions, rows, lines, *_ in read_text(path, start, end):
        kept = Records([], [], [], [], [])
        for position, row, line in zip(positions, rows, lines, strict=True):
            if not line.strip():
                continue
            fields, reason = json_fields(line, columns, is_first=position == 0)
            kept.positions.append(position)
            kept.rows.append(row)
            kept.lines.append(line)
            kept.fields.append(fields)
            kept.rejected.append(reason)
        yield kept


def read_csv(path: str, columns: list[str], *, header: bool) -> Iterator[Records]:
    """Yield the records of a CSV file, each with as many fields as there are `columns`.

    With `header` the first record must be these columns, and is not yielded. Raises SourceError for
    another header, and for a file that cannot be read to its end.
    """
    if header:
        check_header(path, columns)
    with open_decompressed(path) as file:
        yield from csv_records(path, file, len(columns), skip=int(header))


def check_header(path: str, columns: list[str]) -> None:
    """Raise SourceError if a CSV file has a first record, and that is not these columns."""
    with open_decompressed(path) as file, _csv_reader(path, file) as reader:
        if (found := _header(reader)) and found != columns:
            reason = f"its header is {found}, that of the first file {columns}"
            raise SourceError(path, reason=reason)


def csv_records(
    path: str,
    file: IO[bytes],
    width: int,
    *,
    skip: int = 0,
    lines_before: int = 0,
    encoding: str = "utf-8-sig",
) -> Iterator[Records]:
    """Yield the records that follow in an open CSV file, without the first `skip`.

    Each should have `width` fields. Raises SourceError for a file that cannot be read to its end;
    `lines_before` counts the lines in front of it, for the line in that error. Behind the beginning
    of a file, `encoding` is utf-8: only there is a byte order mark no part of the first field.
    """
    with _csv_reader(path, file, lines_before=lines_before, encoding=encoding) as reader:
        records = islice(filter(None, reader), skip, None)
        row = 0
        while chunk := list(islice(records, BATCH_ROWS)):
            rejected = [_csv_fault(record, width) for record in chunk]
            absent: list[str | None] = [None] * width
            fields = [
                absent if fault else [field or None for field in record]
                for record, fault in zip(chunk, rejected, strict=True)
            ]
            rows = list(range(row, row + len(chunk)))
            yield Records([0] * len(chunk), rows, [], fields, rejected)
            row += len(chunk)


def csv_columns(paths: Iterable[str], *, header: bool) -> list[str]:
    """Return the names in the first record of CSV files; `_c0`, `_c1` … without a header.

    Files without any record, which have no header either, are passed over; if all are, there are no
    columns. An empty name becomes `_c` and its number. Raises SourceError if a name in a header
    occurs twice or is not valid UTF-8, and for a file that cannot be read.
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


def json_members(text: str) -> dict[str, str | None]:
    """Return the members of a JSON object, with their values as text; null is None.

    Numbers, lists and objects stay as they are written. Of a name that occurs twice, the last value
    counts. Raises ValueError if the text is not one object, or if anything follows the object.

    >>> json_members('{"a": "x", "b": 1.50, "c": {"d": [1, 2]}, "e": null}')
    {'a': 'x', 'b': '1.50', 'c': '{"d": [1, 2]}', 'e': None}
    """
    members = _DECODER.decode(text)
    if not isinstance(members, dict):
        raise ValueError("not an object")
    if any(isinstance(value, dict | list) for value in members.values()):
        raw = dict(_raw_members(text))
    return {
        name: raw[name] if isinstance(value, dict | list) else _BOOLEANS.get(value, value)
        for name, value in members.items()
    }


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


# Numbers are parsed as text, so that they stay as they are written.
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_refuse_constant)
_BOOLEANS: dict[object, str] = {True: "true", False: "false"}


def _raw_members(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names of an object's members, and their values as they are written."""
    at = _behind_separators(text, text.index("{") + 1)
    while text[at] != "}":
        name, end = _DECODER.raw_decode(text, at)
        start = _behind_separators(text, end)
        _, end = _DECODER.raw_decode(text, start)
        yield name, text[start:end]
        at = _behind_separators(text, end)


def _behind_separators(text: str, at: int) -> int:
    separators = _SEPARATORS.match(text, at)
    assert separators is not None  # it matches nothing at all, too
    return separators.end()


def _header(reader: Iterator[list[str]]) -> list[str]:
    names = next(filter(None, reader), [])
    return [name or f"_c{slot}" for slot, name in enumerate(names)]


def _csv_fault(record: list[str], width: int) -> str | None:
    if len(record) != width:
        return f"it has {len(record)} fields, not {width}"
    return None if _is_unicode(record) else "it is not valid UTF-8"


def _is_unicode(texts: list[str]) -> bool:
    """Return whether texts have no lone surrogate; `_csv_reader` reads an invalid byte as one."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return True


def json_object(line: bytes, *, is_first: bool) -> dict[str, str | None]:
    """Return the members of a JSON line; `is_first`: a byte order mark may stand in front of it.

    Raises what `json_members` does, and RecursionError.
    """
    return json_members(line.decode().removeprefix(_BYTE_ORDER_MARK if is_first else ""))


def json_fields(
    line: bytes, columns: list[str], *, is_first: bool
) -> tuple[list[str | None], str | None]:
    """Return the members of a JSON line with these names, and why it is rejected or None.

    A rejected line has None for all members.
    """
    if is_too_deep(line):
        return [None] * len(columns), f"its objects and lists have more than {MOST_LEVELS} levels"
    try:
        members = json_object(line, is_first=is_first)
        fields = [members.get(column) for column in columns]
        "".join(filter(None, fields)).encode()  # an escape may name a lone surrogate
    except (ValueError, RecursionError) as error:
        return [None] * len(columns), f"it is no JSON object: {error}"
    return fields, None


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
