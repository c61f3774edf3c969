"""Large files in pieces, so that several tasks read one file.

Text and JSON lines are cut every SPLIT_BYTES on every cluster. So the ordinal of a line in its
piece depends on the file only. A compressed file is one piece, because nobody can begin to read it
in the middle. So is a CSV file, unless tasks look at all of it first (csv_columns.py).
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import xxhash

from kminilog.errors import SourceError
from kminilog.jobs.source.compression import compression_of
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.jobs.source.source_topics import opener_of
from kminilog.jobs.source.tasks import Tasks, task_groups

SPLIT_BYTES = 32 << 20
_READ_BYTES = 1 << 20


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


def pieces_of(files: Sequence[SourceFile], format: str) -> list[Piece]:
    """Return the pieces of files in source order: text and JSON lines that are not compressed are
    cut every SPLIT_BYTES."""
    pieces = []
    for file in files:
        is_whole = format == "csv" or compression_of(file.path) is not None
        step = file.size_bytes if is_whole else SPLIT_BYTES
        for start in range(0, max(file.size_bytes, 1), max(step, 1)):
            end = min(start + step, file.size_bytes)
            pieces.append(Piece(file.rank, file.path, start, end, is_whole))
    return pieces


def groups_of(pieces: Sequence[Piece], cores: int) -> list[list[Piece]]:
    """Return the pieces of each task: neighbours, with about as many bytes in each task."""
    return task_groups(pieces, lambda piece: piece.size_bytes, cores=cores)


def lines_in_front(pieces: Sequence[Piece], tasks: Tasks) -> dict[tuple[int, int], int]:
    """Return, by rank and start, how many lines of its file begin in front of a piece of text.

    In `tasks`; O(bytes of files with several pieces). Raises SourceError.
    """
    cut = [one for one, other in pairwise(pieces) if one.rank == other.rank]
    counts = iter(chain.from_iterable(tasks.map(groups_of(cut, tasks.cores), _count_lines)))
    found = {(piece.rank, piece.start): 0 for piece in pieces}
    for one, other in pairwise(pieces):
        if one.rank == other.rank:
            found[other.rank, other.start] = found[one.rank, one.start] + next(counts)
    return found


def _count_lines(pieces: Sequence[Piece]) -> list[int]:
    """Return how many lines begin in each piece: after a newline, or at the start of the file."""
    counts = []
    for piece in pieces:
        start = max(piece.start - 1, 0)
        left_bytes, count = piece.end - 1 - start, int(piece.start == 0)
        for data in _bytes_of(piece.path, start, left_bytes):
            count += data.count(b"\n")
        counts.append(count)
    return counts


def content_digest(files: Sequence[SourceFile], tasks: Tasks) -> str:
    """Return a digest of all bytes of files, as they are stored: XXH3, 128 bits, in hex.

    It depends on the bytes of each file and on the order of the files, not on their names. In
    `tasks`, O(bytes). Raises SourceError for a file that has become shorter since it was listed.
    """
    wholes = [Piece(file.rank, file.path, 0, file.size_bytes, is_whole=False) for file in files]
    found = tasks.map(groups_of(wholes, tasks.cores), _digests)
    return xxhash.xxh3_128_hexdigest(b"".join(digest for group in found for digest in group))


def _digests(pieces: Sequence[Piece]) -> list[bytes]:
    digests = []
    for piece in pieces:
        digest = xxhash.xxh3_128()
        for data in _bytes_of(piece.path, piece.start, piece.size_bytes):
            digest.update(data)
        digests.append(digest.digest())
    return digests


def _bytes_of(path: str, start: int, left_bytes: int) -> Iterator[bytes]:
    try:
        with open(path, "rb", opener=opener_of(path)) as file:
            file.seek(start)
            while left_bytes > 0:
                data = file.read(min(_READ_BYTES, left_bytes))
                if not data:
                    raise changed(path)
                yield data
                left_bytes -= len(data)
    except OSError as error:
        raise SourceError(path, reason=error.strerror or str(error)) from None
