"""Readers that are plain instead of fast: with Python's own means, a record at a time."""

import json
import re
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import pyarrow as pa

from kminilog.jobs.source.columns import columns_of
from kminilog.jobs.source.compression import open_decompressed
from kminilog.jobs.source.description import Source, check_options, files_of
from kminilog.jobs.source.formats import check_header, csv_columns, csv_records, json_fields


class Lines(NamedTuple):
    """Lines with their positions and ordinals; of JSON, members and why a line is rejected."""

    positions: list[int]
    rows: list[int]
    lines: list[bytes]
    fields: list[list[str | None]]
    rejected: list[str | None]


def read_text(path: str, start: int = 0, end: int = sys.maxsize) -> Lines:
    """Return the lines that begin at `start` or after it and before `end`, in one piece."""
    with open_decompressed(path) as file:
        data = file.read()
    position, every = 0, []
    for line in re.findall(rb"[^\n]*\n|[^\n]+", data):
        every.append((position, line.removesuffix(b"\n")))
        position += len(line)
    here = [(position, line) for position, line in every if start <= position < end]
    return Lines([at for at, _ in here], list(range(len(here))), [line for _, line in here], [], [])


def read_json(path: str, columns: list[str]) -> Lines:
    """Return the lines that are not blank, with these members."""
    found = Lines([], [], [], [], [])
    for position, row, line in zip(*read_text(path)[:3], strict=True):
        if line.strip():
            fields, reason = json_fields(line, columns, is_first=position == 0)
            for part, entry in zip(found, (position, row, line, fields, reason), strict=True):
                part.append(entry)
    return found


def read_csv(path: str, columns: list[str], *, header: bool) -> Iterator[Any]:
    """Yield the records of a whole CSV file, by the exact reader."""
    if header:
        check_header(path, columns)
    with open_decompressed(path) as file:
        yield from csv_records(path, file, len(columns), skip=int(header))


def records_of(source: Source, cores: int = 1) -> list[dict[str, Any]]:
    """Return the records of a source by the reader of its format, as dictionaries."""
    check_options(source)
    columns: Any = columns_of(source, files_of(source))
    groups = columns.groups(cores)
    batches = [batch for group in groups for batch in columns.read(group)]
    return pa.Table.from_batches(batches).to_pylist() if batches else []


def plain_records(source: Source) -> list[dict[str, Any]]:
    """Return what `records_of` should return, without `source_row` of lines; JSON is parsed."""
    found = []
    files = files_of(source)
    names = [name for name in (source.key, source.value) if name]
    if source.format == "csv":
        names = csv_columns([file.path for file in files], header=source.header)
    for file in files:
        if source.format == "csv":
            batches = read_csv(file.path, names, header=source.header)
            rows = [pair for part in batches for pair in zip(*part, strict=True)]
            for row, (fields, reason) in enumerate(rows):
                members = dict(zip(names, fields, strict=True))
                whole = json.dumps(members, ensure_ascii=False, separators=(",", ":")).encode()
                found.append(_record(source, file.rank, 0, row, members, whole, reason))
        else:
            read = read_json(file.path, names) if source.format == "json" else read_text(file.path)
            for slot, (at, line) in enumerate(zip(read.positions, read.lines, strict=True)):
                members, reason = {"value": line}, None
                if source.format == "json":
                    members = dict(zip(names, read.fields[slot], strict=True))
                    reason = read.rejected[slot]
                found.append(_record(source, file.rank, at, None, members, line, reason))
    return found


def _record(source: Source, rank: int, at: int, row: Any, members: Any, whole: bytes, why: Any):
    key = None
    if source.key_regex is not None:
        pattern = re.compile(source.key_regex.encode("utf-8", "surrogateescape"))
        match = pattern.search(whole)
        key = match and match[1 if pattern.groups else 0]
    elif source.key is not None:
        key = members[source.key]
    value = whole if source.value is None else members[source.value]
    key, value = (part.encode() if isinstance(part, str) else part for part in (key, value))
    record = {"source_rank": rank, "source_position": at, "key": key, "value": value}
    if why is not None:
        record |= {"key": None, "value": None}
    return record | {"rejected": why} | ({} if row is None else {"source_row": row})
