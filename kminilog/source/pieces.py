"""Large files in pieces, so that several tasks read one file.

Text and JSON lines are cut every SPLIT_BYTES on every cluster. So the ordinal of a line in its
piece depends on the file only. A compressed file is one piece, because nobody can begin to read it
in the middle. So is a CSV file, unless tasks look at all of it first (csv_cuts.py).
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from kminilog.source.compression import compression_of
from kminilog.source.files import SourceFile

SPLIT_BYTES = 32 << 20


def split_bytes() -> int:
    """Return SPLIT_BYTES: for a process that tells it to others."""
    return SPLIT_BYTES


@dataclass(frozen=True)
class Piece:
    """The records that begin in a file from byte `start` up to `end`; all of them if `is_whole`.

    In CSV a record begins exactly at `start` and one ends exactly at `end`. `records_before` it are
    in the file, among them the header; text and JSON lines do not count them.
    """

    rank: int
    path: str
    start: int
    end: int
    is_whole: bool
    records_before: int = 0

    @property
    def stop(self) -> int:
        """Where reading ends: decompressed, a file is longer than its size says."""
        return sys.maxsize if self.is_whole else self.end

    @property
    def size_bytes(self) -> int:
        """How many bytes of the file it has."""
        return self.end - self.start


def pieces_of(
    files: Sequence[SourceFile], format: str, step_bytes: int | None = None
) -> list[Piece]:
    """Return the pieces of files in source order: text and JSON lines that are not compressed are
    cut every `step_bytes`, SPLIT_BYTES by default."""
    pieces = []
    for file in files:
        is_whole = format == "csv" or compression_of(file.path) is not None
        step = file.size_bytes if is_whole else step_bytes or SPLIT_BYTES
        for start in range(0, max(file.size_bytes, 1), max(step, 1)):
            pieces.append(Piece(file.rank, file.path, start, start + step, is_whole))
    return pieces
