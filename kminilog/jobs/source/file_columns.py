"""Keys and values of text, CSV, JSON and kcat files: columns, members, folders, or whole records.

Text has one column, the line. This module knows what of a record is key and value; how records are
found in the bytes is known to line_columns.py, csv_columns.py and json_columns.py. Source: ours.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kminilog.errors import SourceError
from kminilog.jobs.source.csv_columns import csv_pieces, read_fields
from kminilog.jobs.source.description import Source, check_columns, folder_columns, no_column
from kminilog.jobs.source.formats import csv_columns, json_object
from kminilog.jobs.source.json_columns import has_member, members_of, messages_of
from kminilog.jobs.source.line_columns import Lines, read_lines, search
from kminilog.jobs.source.pieces import Piece, groups_of, pieces_of
from kminilog.jobs.source.places import records_of
from kminilog.jobs.source.row_json import row_json
from kminilog.jobs.source.source_files import MESSAGE_BYTES, SourceFile
from kminilog.jobs.source.tasks import LocalTasks, Tasks

_TEXT_COLUMN = "value"  # the one column of a text source: the line
_SAMPLE_BYTES = 1 << 20


@dataclass(frozen=True)
class FileColumns:
    """The pieces of a source's files in source order, and what key and value are.

    `names` are all columns of a CSV file; of JSON lines, the members that are asked for. `folders`
    are the columns that each file's path has, by its rank.
    """

    source: Source
    names: list[str]
    pieces: list[Piece]
    folders: dict[int, dict[str, str]]

    @classmethod
    def of(
        cls, source: Source, files: Sequence[SourceFile], tasks: Tasks | None = None
    ) -> "FileColumns":
        """Return what is to be read.

        Reads the header of a CSV file, and the first JSON lines; all of them for a member that
        these lack. `tasks` read large CSV files, to find where they can be cut. Raises SourceError
        for a key or a value that is no column, and what `tasks` raise.
        """
        folders = {file.rank: folder_columns(file) for file in files}
        names = _names_of(source, files, folders, tasks or LocalTasks())
        if source.format == "csv" and tasks is not None:
            return cls(source, names, csv_pieces(files, tasks), folders)
        return cls(source, names, pieces_of(files, source.format), folders)

    @property
    def size_bytes(self) -> int:
        """How many bytes the files have, compressed or not."""
        return sum(piece.size_bytes for piece in self.pieces)

    @property
    def staged_bytes(self) -> int:
        """About how many bytes their messages have, if all lines are as long as the first ones.

        Of a compressed file it knows only a part of them.
        """
        first: Any = next(
            (lines for piece in self.pieces[:1] for *_, lines in _lines_of(piece)), []
        )
        if not len(first):
            return self.size_bytes
        line_bytes = pc.sum(pc.binary_length(first)).as_py() / len(first) + 1
        return self.size_bytes + int(MESSAGE_BYTES * self.size_bytes / line_bytes)

    def groups(self, cores: int) -> list[list[Piece]]:
        """Return the pieces of each task: neighbours, with about as many bytes in each task."""
        return groups_of(self.pieces, cores)

    def first_row(self, piece: Piece) -> int:
        """Return the row of a piece's first record: for CSV; a header is no row."""
        return max(piece.records_before - self.source.header, 0)

    def read(self, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        """Yield the records of pieces, with the columns of `Columns`.

        Raises SourceError for a file that cannot be read.
        """
        readers = {"text": self._text, "csv": self._csv, "json": self._json, "kcat": self._kcat}
        read = readers[self.source.format]
        for piece in pieces:
            yield from read(piece)

    def _text(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        for row, positions, lines in _lines_of(piece):
            rejected = pa.nulls(len(lines), pa.string())
            yield self._records(piece, row, positions, {_TEXT_COLUMN: lines}, lines, rejected)

    def _json(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        for row, positions, lines in _lines_of(piece):
            rows = np.arange(row, row + len(lines))
            is_first = bool(len(lines)) and int(positions[0]) == 0
            kept, fields, rejected = members_of(lines, self.names, is_first=is_first)
            if not kept.all():
                rows, positions, lines = rows[kept], positions[kept], lines.filter(pa.array(kept))
            columns = dict(zip(self.names, fields, strict=True))
            for name in self.names:
                if name in self.folders[piece.rank] and has_member(lines, name):
                    check_columns(self.source, piece.path, [name], self.folders[piece.rank])
            yield self._records(piece, rows, positions, columns, lines, rejected)

    def _kcat(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        for row, positions, lines in _lines_of(piece):
            is_first = bool(len(lines)) and int(positions[0]) == 0
            found = messages_of(lines, is_first=is_first)
            rows = np.arange(row, row + len(lines))
            places = positions[found.kept], rows[found.kept]
            told: tuple[Any, ...] = ()
            rejected = found.rejected
            if self.source.same_places:
                told = found.partition, found.offset
                is_told = pc.and_(*(column.is_valid() for column in told))
                untold = "it has no partition and no offset"
                reasons = pc.if_else(is_told, pa.scalar(None, pa.string()), untold)
                rejected = pc.coalesce(rejected, reasons)
            yield records_of(piece.rank, *places, found.key, found.payload, rejected, *told)

    def _csv(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        source, folders = self.source, self.folders[piece.rank]
        header = source.header and piece.records_before == 0
        row = self.first_row(piece)
        asked = [name for name in (source.key, source.value) if name in self.names]
        names = self.names if source.needs_whole else asked
        wanted = [self.names.index(name) for name in names]
        read = partial(read_fields, start=piece.start, end=piece.stop, header=header)
        for fields, rejected in read(piece.path, self.names, wanted):
            count, whole = len(rejected), None
            if source.needs_whole:
                texts = [pa.repeat(text, count) for text in folders.values()]
                whole = row_json([*names, *folders], [*fields, *texts])
            columns = dict(zip(names, fields, strict=True))
            yield self._records(piece, row, 0, columns, whole, rejected)
            row += count

    def _records(
        self, piece: Piece, rows: Any, positions: Any, columns: Any, whole: Any, rejected: Any
    ) -> pa.RecordBatch:
        """Return records; `rows` are their ordinals, or the first of them."""
        source, count = self.source, len(rejected)
        if isinstance(rows, int):
            rows = np.arange(rows, rows + count)
        folders = self.folders[piece.rank].items()
        columns |= {name: pa.repeat(text, count) for name, text in folders}
        key = pa.nulls(count, pa.binary())
        if source.key_regex is not None:
            key = search(source.key_regex, whole)
        elif source.key is not None:
            key = columns[source.key].cast(pa.binary())
        value = whole if source.value is None else columns[source.value].cast(pa.binary())
        return records_of(piece.rank, positions, rows, key, value, rejected)


def _lines_of(piece: Piece) -> Iterator[Lines]:
    return read_lines(piece.path, piece.start, piece.stop)


def _names_of(
    source: Source,
    files: Sequence[SourceFile],
    folders: Mapping[int, Mapping[str, str]],
    tasks: Tasks,
) -> list[str]:
    """Return the columns of a text or CSV source; of JSON lines, the members that are asked for.

    Raises SourceError for a key or a value that is none of these, nor a folder of a file's path. In
    files without records each name may be a column.
    """
    asked = sorted({name for name in (source.key, source.value) if name is not None})
    if source.format == "json":
        known = [name for name in asked if not all(name in found for found in folders.values())]
        absent = _absent_members(files, known, tasks)
        if absent and any(
            members_of(lines, [], is_first=piece.start == row == 0).kept.any()
            for piece in pieces_of(files, "json")
            for row, _, lines in _lines_of(piece)
        ):
            raise SourceError(str(source), reason=f"no line has a member {absent[0]!r}")
        return asked
    names = [_TEXT_COLUMN]
    if source.format == "csv":
        names = csv_columns((file.path for file in files), header=source.header)
    for file in files if names else []:  # no columns: no CSV file has a record
        check_columns(source, file.path, names, folders[file.rank])
        for name in asked:
            if name not in names and name not in folders[file.rank]:
                raise no_column(file.path, name, [*names, *folders[file.rank]])
    return names


def _absent_members(files: Sequence[SourceFile], names: list[str], tasks: Tasks) -> list[str]:
    """Return which of these members no JSON line has: mostly the first lines have them."""
    pieces = pieces_of(files, "json") if names else []
    absent = _without_members(names, pieces, _SAMPLE_BYTES)
    if absent:
        for still in tasks.map(groups_of(pieces, tasks.cores), partial(_without_members, absent)):
            absent = [name for name in absent if name in still]
    return absent


def _without_members(
    names: list[str], pieces: Sequence[Piece], most_bytes: int = sys.maxsize
) -> list[str]:
    """Return which of these members no line of pieces has, or none of the first `most_bytes`."""
    read_bytes = 0
    for piece in pieces:
        for _, positions, lines in _lines_of(piece):
            for position, line in zip(positions.tolist(), lines.to_pylist(), strict=True):
                if not names or read_bytes > most_bytes:
                    return names
                read_bytes += len(line)
                with suppress(ValueError, RecursionError):
                    found = json_object(line, names, is_first=position == 0)
                    names = [name for name in names if name not in found]
    return names
