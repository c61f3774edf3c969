"""One reader for each format: tasks of Spark use it, and so does this process.

    source_rank      the file: arguments as given, then path
    source_position  where the record begins in the file; 0 (csv, parquet)
    source_row       its ordinal (description.py says in what)
    key, value       bytes or null
    rejected         null, or why the record cannot be decoded; key and value are null then

The first three columns together give the source order. Every file that is listed is read, to its
end. This module knows which reader a format has, and not how it reads. Source: ours.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, TypeVar

import pyarrow as pa

from kminilog.jobs.source.description import Source
from kminilog.jobs.source.file_columns import FileColumns
from kminilog.jobs.source.parquet_columns import ParquetColumns
from kminilog.jobs.source.selection import SelectedColumns, selected
from kminilog.jobs.source.source_files import SourceFile
from kminilog.jobs.source.tasks import Tasks
from kminilog.jobs.source.topic_columns import SegmentPiece, TopicColumns

Item = TypeVar("Item")
AnyColumns = ParquetColumns | FileColumns | TopicColumns | SelectedColumns


class Columns(Protocol[Item]):
    """The keys and values of a source, in items that tasks read: row groups, pieces of files."""

    @property
    def size_bytes(self) -> int:
        """How many bytes all items have, as far as that is known."""
        ...

    @property
    def staged_bytes(self) -> int:
        """About how many bytes their messages have in a log, as far as that is known."""
        ...

    def groups(self, cores: int) -> list[list[Item]]:
        """Return the items of each task: neighbours, with about as many bytes in each task."""
        ...

    def read(self, items: Sequence[Item], /) -> Iterator[pa.RecordBatch]:
        """Yield the records of items in source order, with the columns that the module names."""
        ...


def columns_of(
    source: Source, files: Sequence[SourceFile], tasks: Tasks | None = None
) -> AnyColumns:
    """Return the columns of a source. Raises SourceError for what its reader refuses.

    With `tasks`, large CSV files are cut; these tasks look where (csv_columns.py).
    """
    found: AnyColumns
    if source.format == "parquet":
        found = ParquetColumns.of(source, files)
    elif source.format == "kminilog":
        found = TopicColumns.of(source, files)
    else:
        found = FileColumns.of(source, files, tasks)
    return found if source.only is None else selected(source, files, found)


def left_out(columns: AnyColumns | None, tasks: Tasks) -> list[dict[str, Any]]:
    """Return what the readers of a Kafka broker's partitions do not hand on; [] of other sources.

    In `tasks`, which read these partitions once more. What a row says: `broker_topics.LeftOut`.
    """
    if isinstance(columns, SelectedColumns):
        columns = columns.columns
    if not isinstance(columns, TopicColumns):
        return []
    pieces = [piece for piece in columns.pieces if not isinstance(piece, SegmentPiece)]
    found = tasks.map(pieces, lambda piece: piece.left_out(), step="counting", size_bytes=0)
    return [row._asdict() for row in found]
