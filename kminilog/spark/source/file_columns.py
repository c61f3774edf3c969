"""Keys and values of text files that need no SQL: tasks read them without the JVM.

As with Parquet columns (parquet_columns.py), no record passes through the JVM, and most need no
Python object. The records and their places are those of `read_source`, which reads every source
that needs more than that. Source: ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from kminilog.spark.runtime.task_groups import task_groups
from kminilog.spark.source.file_source import Piece, pieces_of
from kminilog.spark.source.files import SourceFile
from kminilog.spark.source.line_columns import read_lines, search
from kminilog.spark.source.records import Source

_TEXT_COLUMN = "value"  # the one column of a text source: the line


@dataclass(frozen=True)
class FileColumns:
    """The pieces of a source's files in source order, and what a key is."""

    pieces: list[Piece]
    key: str | None
    key_regex: str | None
    orders_by_position = True

    @classmethod
    def of(cls, source: Source, files: Sequence[SourceFile]) -> "FileColumns | None":
        """Return what is to be read; None if `read_source` has to read the source."""
        if source.format != "text" or source.key_expr is not None:
            return None
        if source.key not in (None, _TEXT_COLUMN) or source.value not in (None, _TEXT_COLUMN):
            return None
        return cls(pieces_of(files, source.format), source.key, source.key_regex)

    @property
    def size_bytes(self) -> int:
        """How many bytes the files have, compressed or not."""
        return sum(piece.size_bytes for piece in self.pieces)

    def groups(self, cores: int) -> list[list[Piece]]:
        """Return the pieces of each task: neighbours, with about as many bytes in each task."""
        return task_groups(self.pieces, lambda piece: piece.size_bytes, cores=cores)

    def read(self, pieces: Sequence[Piece]) -> Iterator[pa.RecordBatch]:
        """Yield the records of pieces, with the columns of `read_source`.

        Nothing is rejected. Raises SourceError for a file that cannot be read.
        """
        for piece in pieces:
            for row, positions, lines in read_lines(piece.path, piece.start, piece.stop):
                yield _records(piece.rank, row, positions, self._key(lines), lines)

    def _key(self, lines: Any) -> Any:
        if self.key_regex is not None:
            return search(self.key_regex, lines)
        return pa.nulls(len(lines), pa.binary()) if self.key is None else lines


def _records(rank: int, row: int, positions: Any, key: Any, value: Any) -> pa.RecordBatch:
    count = len(value)
    return pa.record_batch(
        {
            "source_rank": pa.repeat(pa.scalar(rank, pa.int32()), count),
            "source_position": pa.array(positions),
            "source_row": pa.array(np.arange(row, row + count)),
            "key": key,
            "value": value,
            "rejected": pa.nulls(count, pa.string()),
        }
    )
