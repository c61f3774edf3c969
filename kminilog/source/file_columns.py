"""Keys and values of text, CSV and JSON files that need no SQL: tasks read them without the JVM.

As with Parquet columns (parquet_columns.py), no record passes through the JVM. The records and
their places are those of `read_source`, which reads every source that needs more than that. Source:
ours.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kminilog.job_errors import SourceError
from kminilog.source.csv_columns import read_fields, row_json
from kminilog.source.csv_cuts import csv_pieces
from kminilog.source.description import Source
from kminilog.source.files import SourceFile
from kminilog.source.formats import csv_columns, json_object
from kminilog.source.json_columns import members_of
from kminilog.source.line_columns import read_lines, search
from kminilog.source.pieces import Piece, pieces_of
from kminilog.source.task_groups import task_groups
from kminilog.source.tasks import Tasks

_TEXT_COLUMN = "value"  # the one column of a text source: the line
_SAMPLE_BYTES = 1 << 20
_NAME = re.compile(r"[^\W\d]\w*")
_SQL_WORDS = {"null", "true", "false", "user", "current_user", "session_user", "localtimestamp"}
_SQL_WORDS |= {"current_date", "current_time", "current_timestamp"}  # without parentheses


@dataclass(frozen=True)
class FileColumns:
    """The pieces of a source's files in source order, and what key and value are.

    `names` are all columns of a CSV file; of JSON lines, the members that are asked for.
    """

    source: Source
    names: list[str]
    pieces: list[Piece]

    @classmethod
    def of(
        cls, source: Source, files: Sequence[SourceFile], tasks: Tasks | None = None
    ) -> "FileColumns | None":
        """Return what is to be read; None if `read_source` has to read the source.

        Reads the header of a CSV file, and the first JSON lines. `tasks` read large CSV files, to
        find where they can be cut. A value that is no column may be SQL, and later JSON lines may
        have other members: both are left to `read_source`. Raises SourceError for a key that is no
        column of a text or a CSV file, and what `tasks` raise.
        """
        if source.format == "parquet" or source.key_expr is not None:
            return None
        asked = [name for name in (source.key, source.value) if name is not None]
        names = names_of(source, files, asked)
        if source.key is not None and source.format != "json" and source.key not in (names or []):
            raise no_column(source, source.key, names or [])
        if source.format != "json":
            check_value(source, names or [])
        if names is None or not set(asked) <= set(names):
            return None
        if len({name.lower() for name in names}) < len(names):  # Spark does not tell them apart
            return None
        if source.format == "csv" and tasks is not None:
            return cls(source, names, csv_pieces(files, tasks))
        return cls(source, names, pieces_of(files, source.format))

    @property
    def size_bytes(self) -> int:
        """How many bytes the files have, compressed or not."""
        return sum(piece.size_bytes for piece in self.pieces)

    def groups(self, cores: int) -> list[list[Piece]]:
        """Return the pieces of each task: neighbours, with about as many bytes in each task."""
        return task_groups(self.pieces, lambda piece: piece.size_bytes, cores=cores)

    def first_row(self, piece: Piece) -> int:
        """Return the row of a piece's first record: for CSV; a header is no row."""
        return max(piece.records_before - self.source.header, 0)

    def read(self, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        """Yield the records of pieces, with the columns of `read_source`.

        Raises SourceError for a file that cannot be read.
        """
        read = {"text": self._text, "csv": self._csv, "json": self._json}[self.source.format]
        for piece in pieces:
            yield from read(piece)

    def _text(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        for row, positions, lines in read_lines(piece.path, piece.start, piece.stop):
            columns = {_TEXT_COLUMN: lines}
            rejected = pa.nulls(len(lines), pa.string())
            yield self._records(piece.rank, row, positions, columns, lines, rejected)

    def _json(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        for row, positions, lines in read_lines(piece.path, piece.start, piece.stop):
            rows = np.arange(row, row + len(lines))
            is_first = bool(len(lines)) and int(positions[0]) == 0
            kept, fields, rejected = members_of(lines, self.names, is_first=is_first)
            if not kept.all():
                rows, positions, lines = rows[kept], positions[kept], lines.filter(pa.array(kept))
            columns = dict(zip(self.names, fields, strict=True))
            if rejected.null_count < len(rejected):  # a rejected record has no value
                nothing = pa.scalar(None, pa.binary())
                lines = pc.if_else(rejected.is_null(), lines, nothing)
            yield self._records(piece.rank, rows, positions, columns, lines, rejected)

    def _csv(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        source = self.source
        header = source.header and piece.records_before == 0
        row = self.first_row(piece)
        needs_all = source.value is None or source.key_regex is not None
        names = self.names if needs_all else [n for n in (source.key, source.value) if n]
        wanted = [self.names.index(name) for name in names]
        read = partial(read_fields, start=piece.start, end=piece.stop, header=header)
        for fields, rejected in read(piece.path, self.names, wanted):
            count = len(rejected)
            whole = None
            if needs_all:
                whole = row_json(names, fields)
                if rejected.null_count < count:
                    whole = pc.if_else(rejected.is_null(), whole, pa.scalar(None, pa.binary()))
            columns = dict(zip(names, fields, strict=True))
            positions = np.zeros(count, np.int64)
            yield self._records(piece.rank, row, positions, columns, whole, rejected)
            row += count

    def _records(
        self, rank: int, rows: Any, positions: Any, columns: Any, whole: Any, rejected: Any
    ) -> pa.RecordBatch:
        """Return records; `rows` are their ordinals, or the first of them."""
        source, count = self.source, len(rejected)
        if isinstance(rows, int):
            rows = np.arange(rows, rows + count)
        key = pa.nulls(count, pa.binary())
        if source.key_regex is not None:
            key = search(source.key_regex, whole)
        elif source.key is not None:
            key = columns[source.key].cast(pa.binary())
        value = whole if source.value is None else columns[source.value].cast(pa.binary())
        return pa.record_batch(
            {
                "source_rank": pa.repeat(pa.scalar(rank, pa.int32()), count),
                "source_position": pa.array(positions),
                "source_row": pa.array(rows),
                "key": key,
                "value": value,
                "rejected": rejected,
            }
        )


def no_column(source: Source, name: str, names: Sequence[str]) -> SourceError:
    """Return the error for a key or a value that is none of these columns."""
    reason = f"no column {name!r}; there is: {', '.join(names) or 'none'}"
    return SourceError(str(source), reason=reason)


def check_value(source: Source, names: Sequence[str]) -> None:
    """Raise SourceError for a value that can only be a column, and is none of these.

    That is a single name. Anything else may be SQL, and so may a word that SQL knows.
    """
    value = source.value
    known = {name.lower() for name in names} | _SQL_WORDS
    if value is not None and _NAME.fullmatch(value) and value.lower() not in known:
        raise no_column(source, value, names)


def names_of(source: Source, files: Sequence[SourceFile], asked: Sequence[str]) -> list[str] | None:
    """Return the columns of a source; of JSON lines those `asked` that its first lines have."""
    if source.format == "text":
        return [_TEXT_COLUMN]
    if source.format == "csv":
        return csv_columns((file.path for file in files), header=source.header)
    return None if absent_members(files, asked) else sorted(set(asked))


def absent_members(files: Sequence[SourceFile], names: Sequence[str]) -> list[str]:
    """Return which of these members the first JSON lines lack, up to _SAMPLE_BYTES of them."""
    absent, left_bytes = dict.fromkeys(names), _SAMPLE_BYTES
    for file in files:
        for _, positions, lines in read_lines(file.path, 0, left_bytes):
            for position, line in zip(positions.tolist(), lines.to_pylist(), strict=True):
                with suppress(ValueError, RecursionError):
                    for name in json_object(line, is_first=position == 0):
                        absent.pop(name, None)
                if not absent:
                    return []
            left_bytes -= lines.nbytes
        if left_bytes <= 0:
            break
    return list(absent)
