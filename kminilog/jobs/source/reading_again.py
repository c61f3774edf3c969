"""A few records read once more, by their places: for a report, which shows what they hold.

    lines, messages     the record itself: its place says at which byte it begins
    Parquet             its row group, up to the row
    CSV                 its piece, if tasks have cut the file; else the file up to the record
    compressed          the file, up to the record

Nothing is read again of a DataFrame, if more than MOST_BYTES would have to be read, or if the file
has changed since it was listed. Whoever asks gets a reason then. This module compares nothing.
Source: ours.
"""

from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from kminilog.errors import SourceError
from kminilog.jobs.source.columns import AnyColumns, columns_of
from kminilog.jobs.source.compression import compression_of
from kminilog.jobs.source.description import DATAFRAME, Place, Source
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.parquet_columns import ParquetColumns
from kminilog.jobs.source.pieces import Piece
from kminilog.jobs.source.selection import SelectedColumns
from kminilog.jobs.source.source_files import SourceFile, is_unchanged
from kminilog.jobs.source.source_topics import found_at, segments_of
from kminilog.jobs.source.topic_columns import TopicColumns

MOST_BYTES = 1 << 30
CHANGED = "its file has changed since it was compared"
_OF_A_DATAFRAME = "it is a row of a DataFrame, which is not read again"
_TOO_FAR = "its file is too large to be read again up to it"
KeyAndValue = tuple[bytes | None, bytes | None]
Found = Mapping[Place, KeyAndValue | str]


def records_at(
    source: Source,
    files: Sequence[SourceFile],
    places: Iterable[Place],
    columns: AnyColumns | None = None,
) -> Found:
    """Return for each place the record's key and value, or why it cannot be shown.

    `columns` have read the source before, if anybody has: they may know where to begin.
    Raises nothing for a file that cannot be read: that is such a reason. Costs what the module
    says.
    """
    ordered = sorted(set(places))
    if source == DATAFRAME:
        return dict.fromkeys(ordered, _OF_A_DATAFRAME)
    found: dict[Place, KeyAndValue | str] = {}
    for rank, group in groupby(ordered, key=lambda place: place.rank):
        here, file = list(group), files[rank]
        known: dict[Place, KeyAndValue | str] = {}
        reason = CHANGED
        if is_unchanged(file):
            try:
                known, reason = _read(source, columns or columns_of(source, files), file, here)
            except SourceError as error:
                reason = str(error)
            if not is_unchanged(file):  # while it was read
                known, reason = {}, CHANGED
        found |= {place: known.get(place, reason) for place in here}
    return found


def _read(
    source: Source, columns: AnyColumns, file: SourceFile, places: Sequence[Place]
) -> tuple[dict[Place, KeyAndValue | str], str]:
    """Return what is found in a file, and the reason why the rest is not."""
    if isinstance(columns, SelectedColumns):
        return _read(source, columns.columns, file, places)
    if isinstance(columns, TopicColumns):
        return dict(_messages(columns, file, places)), CHANGED
    batches: Iterator[Any]
    if isinstance(columns, FileColumns):
        pieces = _pieces(columns, file, places)
        if sum(piece.size_bytes for piece in pieces) > MOST_BYTES:
            return {}, _TOO_FAR
        batches = (batch for piece in pieces for batch in columns.read([piece]))
    else:
        batches = _row_groups(columns, file, places)
    wanted = {(place.row if source.has_rows else place.position): place for place in places}
    known: dict[Place, KeyAndValue | str] = {}
    for batch in batches:
        known |= _of_batch(source, batch, wanted)
        if len(known) == len(places):
            break
    return known, CHANGED


def _messages(
    columns: TopicColumns, file: SourceFile, places: Sequence[Place]
) -> Iterator[tuple[Place, KeyAndValue]]:
    found = segments_of(columns.source.paths)
    segment = next(one.segment for one in found if one.file.path == file.path)
    for place in places:
        if message := found_at(segment, place.position):
            yield place, (message.key, message.value)


def _pieces(columns: FileColumns, file: SourceFile, places: Sequence[Place]) -> list[Piece]:
    """Return what is to be read to find some records of a file; `places` are in source order."""
    if columns.source.format == "csv":
        pieces = [piece for piece in columns.pieces if piece.rank == file.rank]
        first_rows = [columns.first_row(piece) for piece in pieces]
        return [pieces[n] for n in sorted({bisect(first_rows, p.row) - 1 for p in places})]
    if compression_of(file.path) is not None:
        return [Piece(file.rank, file.path, 0, places[-1].position + 1, is_whole=False)]
    return [
        Piece(file.rank, file.path, place.position, place.position + 1, is_whole=False)
        for place in places
    ]


def _row_groups(
    columns: ParquetColumns, file: SourceFile, places: Sequence[Place]
) -> Iterator[Any]:
    for found in columns.row_groups:
        rows = range(found.first_row, found.first_row + found.rows)
        if found.rank == file.rank and any(place.row in rows for place in places):
            yield from columns.read([found])


def _of_batch(
    source: Source, batch: Any, wanted: Mapping[int, Place]
) -> dict[Place, KeyAndValue | str]:
    name = "source_row" if source.has_rows else "source_position"
    numbers = batch.column(name).to_numpy()
    found: dict[Place, KeyAndValue | str] = {}
    for slot in np.flatnonzero(np.isin(numbers, list(wanted))).tolist():
        key, value, why = (
            batch.column(name)[slot].as_py() for name in ("key", "value", "rejected")
        )
        known = f"it can be no message: {why}" if why else (key, value)
        found[wanted[int(numbers[slot])]] = known
    return found
