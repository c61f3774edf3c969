"""What a source is: its files, its format, and what of it is key and value. Where a record stands.

    rank      the file: arguments as given, then path
    position  where the line begins in the file (text, json); 0 (csv, parquet)
    row       ordinal in the file (csv, parquet), or in the piece of it that one task reads

These three numbers together are the *place* of a record; places are in source order. This module
reads no records.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, NamedTuple

from kminilog.job_errors import SourceError
from kminilog.source.compression import check_content, open_decompressed
from kminilog.source.files import SourceFile, list_files

FORMATS = ("text", "csv", "json", "parquet")
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class Source:
    """Where records come from, and what their keys and values are.

    At most one of three may be given: `key` is a column, `key_expr` is SQL, and `key_regex` is
    Python's `re` on the bytes of the whole record. Its key is group 1, or the whole match if it has
    no group; no match is no key. `value` is a column, or else SQL; None is the whole record.
    """

    paths: tuple[str, ...]
    format: str = "text"
    key: str | None = None
    key_regex: str | None = None
    key_expr: str | None = None
    value: str | None = None
    header: bool = True

    def __str__(self) -> str:
        return ", ".join(self.paths)

    def to_json(self) -> dict[str, Any]:
        """Return the source as a manifest records it; paths become absolute."""
        return {**asdict(self), "paths": [os.path.abspath(path) for path in self.paths]}


class Place(NamedTuple):
    """Where a record is in a source; places are in source order."""

    rank: int
    position: int
    row: int


class Location(NamedTuple):
    """Where a record is, for humans: its file, and its `line` or `row`, counted from 1."""

    path: str
    unit: str
    number: int


def locate(
    source: Source, files: Sequence[SourceFile], places: Iterable[Place]
) -> dict[Place, str]:
    """Return the file and the line or row of some records, as text; costs what `locations` does."""
    ordered = sorted(set(places))
    found = zip(ordered, locations(source, files, ordered), strict=True)
    return {place: f"{path}, {unit} {number}" for place, (path, unit, number) in found}


def locations(
    source: Source, files: Sequence[SourceFile], places: Iterable[Place]
) -> Iterator[Location]:
    """Yield where records are, one by one; `places` must be in source order.

    Reads text and JSON files up to the last of their places. Raises SourceError.
    """
    for rank, group in groupby(places, key=lambda place: place.rank):
        path = files[rank].path
        if source.format in ("csv", "parquet"):
            yield from (Location(path, "row", place.row + 1) for place in group)
            continue
        line, position = 1, 0
        with open_decompressed(path) as file:
            for place in group:
                while position < place.position:
                    data = file.read(min(place.position - position, _READ_BYTES))
                    if not data:
                        break
                    line, position = line + data.count(b"\n"), position + len(data)
                yield Location(path, "line", line)


def files_of(source: Source) -> list[SourceFile]:
    """Return the files of a source in source order; see `list_files`.

    In all formats but Parquet, reads the first bytes of each file. Raises SourceError for what
    `list_files` or `check_content` refuses.
    """
    files = list_files(source.paths)
    if source.format != "parquet":
        for file in files:
            check_content(file.path)
    return files


def check_options(source: Source) -> None:
    """Raise SourceError for an unknown format, two kinds of keys or a wrong regex."""
    if source.format not in FORMATS:
        reason = f"no format {source.format!r}; there is: {', '.join(FORMATS)}"
        raise SourceError(str(source), reason=reason)
    given = [name for name in (source.key, source.key_regex, source.key_expr) if name is not None]
    if len(given) > 1:
        reason = "give one of a key column, a key regex and a key expression, not more"
        raise SourceError(str(source), reason=reason)
    if source.key_regex is not None:
        try:
            re.compile(source.key_regex.encode("utf-8", "surrogateescape"))
        except re.error as error:
            reason = f"key regex {source.key_regex!r}: {error}"
            raise SourceError(str(source), reason=reason) from None
