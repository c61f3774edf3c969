"""What a source is: its files, its format, and what of it is key and value. Where a record stands.

    rank      the file: arguments as given, then path
    position  where the line or the message begins in the file; 0 (csv, parquet)
    row       ordinal in the file (csv, parquet), or in the piece of it that one task reads (text,
              json, kcat), or in the segment (kminilog)

A Kafka broker's topic counts both by offsets (broker_topics.py).

These three numbers together are the *place* of a record; places are in source order. This module
reads no records.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from kminilog.errors import SourceChangedError, SourceError
from kminilog.jobs.source.compression import check_content, open_decompressed
from kminilog.jobs.source.source_files import (
    SourceFile,
    changed,
    is_unchanged,
    list_files,
    path_of,
)
from kminilog.jobs.source.source_topics import check_other_topic, found_at, segments_of
from kminilog.regex import compile_regex

FORMATS = ("text", "csv", "json", "parquet", "kcat", "kminilog")
_WITH_ROWS = ("csv", "parquet", "dataframe")
_OF_MESSAGES = ("kcat", "kminilog")  # which have keys and values of their own
_READ_BYTES = 1 << 20
_MOST_NAMES = 20  # that an error lists
_ROW_ID = "monotonically_increasing_id"  # Spark's number of a row


@dataclass(frozen=True)
class Source:
    """Where records come from, and what their keys and values are.

    At most one of two may be given: `key` is a column, and `key_regex` is Python's `re` on the
    bytes of the whole record. Its key is group 1, or the whole match if it has no group; no match
    is no key. `value` is a column; None is the whole record: the line (text, json), or the row as
    JSON (csv, parquet). A column may be a member of another one, `a.b`, or a folder of the file's
    path, `a=1`, which is text as it stands there. Text has one column, `value`. Messages (kcat,
    kminilog) have their own key and value, and neither columns nor a regex. A source without
    records is an error, unless `allow_empty`. `only` is a file of `verify --findings`: then the
    source has just the records that this file calls missing. With `same_places` records say in
    which partition and at which offset their messages are, which only messages know.
    """

    paths: tuple[str, ...]
    format: str = "text"
    key: str | None = None
    key_regex: str | None = None
    value: str | None = None
    header: bool = True
    allow_empty: bool = field(default=False, compare=False)  # as for a DataFrame
    only: str | None = None
    same_places: bool = False

    def __str__(self) -> str:
        return ", ".join(self.paths)

    @property
    def has_rows(self) -> bool:
        """Whether the place of a record is its row, and not where it begins in its file."""
        return self.format in _WITH_ROWS

    @property
    def knows_places(self) -> bool:
        """Whether its records are messages, which have a partition, an offset, key and value."""
        return self.format in _OF_MESSAGES

    @property
    def needs_whole(self) -> bool:
        """Whether the whole record is its value, or is searched for its key."""
        return self.value is None or self.key_regex is not None

    def to_json(self) -> dict[str, Any]:
        """Return the source as a manifest records it; paths become absolute."""
        found = asdict(self)
        del found["allow_empty"], found["same_places"]  # the same records are read
        only = found.pop("only")
        if only is not None:
            found["only"] = os.path.abspath(only)
        if self != DATAFRAME:
            found["paths"] = [os.path.abspath(path_of(path)) for path in self.paths]
        return found

    def is_what_was_read(self, job_paths: Sequence[str]) -> bool:
        """Tell if a job with these arguments has read this very source; links count too."""
        own = [self._real_path(path_of(path)) for path in self.paths]
        return self != DATAFRAME and own == [*map(self._real_path, job_paths)]

    def _real_path(self, path: str) -> str:
        directory, sign, topic = path.rpartition(":")
        if self.format != "kminilog" or not sign:
            return os.path.realpath(path)
        return f"{os.path.realpath(directory)}:{topic}"


DATAFRAME = Source(("a DataFrame",), "dataframe")
"""Rows that Spark reads: a source without files, for those who call from Python."""


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
    if source == DATAFRAME:
        yield from (Location(str(source), _ROW_ID, place.row) for place in places)
        return
    if source.format == "kminilog":
        segments = {found.file.path: found.segment for found in segments_of(source.paths)}
        for asked in places:
            named = files[asked.rank].path
            found = found_at(segments[named], asked.position) if named in segments else None
            if found is None:
                raise changed(named)
            yield Location(named, "offset", found.offset)
        return
    for rank, group in groupby(places, key=lambda place: place.rank):
        path = files[rank].path
        if source.has_rows:
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
    """Return the files of a source in source order; see `list_files` and `segments_of`.

    In all formats but Parquet and kminilog, reads the first bytes of each file. Raises SourceError
    for what these two or `check_content` refuse. A DataFrame has none.
    """
    files = listed(source)
    if source.format not in ("parquet", "kminilog"):
        for file in files:
            check_content(file.path)
    return files


def listed(source: Source) -> list[SourceFile]:
    """Return the files of a source as `files_of` does, without a look into them."""
    if source == DATAFRAME:
        return []
    if source.format == "kminilog":
        return [found.file for found in segments_of(source.paths)]
    return list_files(source.paths)


def check_unchanged(source: Source, files: Sequence[SourceFile]) -> None:
    """Raise SourceError if a source has other files now than when they were listed.

    A file that has changed, is gone or is new counts. Costs what listing does.
    """
    for file in files:
        if not is_unchanged(file):
            raise changed(file.path)
    known = {file.path for file in files}
    for file in listed(source):
        if file.path not in known:
            raise SourceChangedError(
                file.path, reason="it came after the source was listed; read it again"
            )


def check_outside(source: Source, files: Sequence[SourceFile], log_dir: Path, topic: str) -> None:
    """Raise SourceError for a file below the log dir that a job writes to.

    Another topic of this log dir may be a source, but not `topic` itself.
    """
    if source.format == "kminilog":
        check_other_topic(source.paths, log_dir, topic)
        return
    inside = os.path.realpath(log_dir)
    for file in files:
        if os.path.commonpath([inside, os.path.realpath(file.path)]) == inside:
            raise SourceError(file.path, reason=f"it is a file of the log dir {log_dir} itself")


def folder_columns(file: SourceFile) -> dict[str, str]:
    """Return the columns that a file's path has below the directory that was named: `a=1`.

    Their values are text as it stands there. Raises SourceError if two folders have one name.

    >>> folder_columns(SourceFile(0, "/d/zip=02134/x=a=b/p.csv", 1, "/d"))
    {'zip': '02134', 'x': 'a=b'}
    """
    if file.directory is None:
        return {}
    folders = os.path.relpath(file.path, file.directory).split(os.sep)[:-1]
    found: dict[str, str] = {}
    for name, sign, text in (folder.partition("=") for folder in folders):
        if sign and os.fsencode(name + text).decode(errors="replace") != name + text:
            raise SourceError(file.path, reason="a folder of its path is not valid UTF-8")
        if name in found:
            raise SourceError(file.path, reason=f"two folders of its path have the name {name!r}")
        if name and sign:
            found[name] = text
    return found


def check_columns(
    source: Source, path: str, columns: Sequence[str], folders: Mapping[str, str]
) -> None:
    """Raise SourceError if a name that the source uses is that of two columns of a file.

    `columns` are those in the file, `folders` those of its path. A row as JSON uses them all.
    """
    of_name = Counter([*columns, *folders])
    is_row = source.needs_whole and source.has_rows
    for name in of_name if is_row else filter(None, (source.key, source.value)):
        if of_name[name] > 1:
            both = "a folder of its path and a column have" if name in folders else "it has twice"
            raise SourceError(path, reason=f"{both} the name {name!r}: rename one of them")


def check_count(source: Source, count: int) -> None:
    """Raise SourceError if a source has no records, and may not be empty."""
    if not (count or source.allow_empty):
        allowing = "allow_empty=True" if source == DATAFRAME else "--allow-empty"
        raise SourceError(str(source), reason=f"it holds no records; {allowing} allows that")


def no_column(where: object, name: str, names: Sequence[str]) -> SourceError:
    """Return the error for a key or a value that is none of these columns."""
    shown = [*names[:_MOST_NAMES], *[f"… ({len(names)} in all)"][: len(names) > _MOST_NAMES]]
    reason = f"no column {name!r}; there is: {', '.join(shown) or 'none'}"
    return SourceError(str(where), reason=reason)


def check_options(source: Source) -> None:
    """Raise SourceError for an unknown format, a wrong regex, or a key or a value too many."""
    if source.format not in FORMATS:
        reason = f"no format {source.format!r}; there is: {', '.join(FORMATS)}"
        raise SourceError(str(source), reason=reason)
    asked = [source.key, source.key_regex, source.value]
    if source.knows_places and any(name is not None for name in asked):
        reason = f"messages of {source.format} have their own key and value: name neither"
        raise SourceError(str(source), reason=reason)
    if source.same_places and not source.knows_places:
        reason = f"records of format {source.format} have no partition and no offset"
        raise SourceError(str(source), reason=f"{reason} to compare; only messages have")
    if source.key is not None and source.key_regex is not None:
        raise SourceError(str(source), reason="give a key column or a key regex, not both")
    if source.key_regex is not None:
        try:
            compile_regex(source.key_regex.encode("utf-8", "surrogateescape"), "key_regex")
        except ValueError as error:
            raise SourceError(str(source), reason=str(error)) from None
