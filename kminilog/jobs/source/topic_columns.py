"""Keys and values of the messages of topics, as they are: null is null, and empty is empty.

    pieces    large segments are cut where an index entry points to a message
    read      every byte of a piece must belong to a valid message with the next offset

So a piece ends where the next one begins, and a segment where the next one does. Damage, a gap, a
compressed or an unfinished message end the reading with their place: a copy of a damaged log would
hide what the log has lost. The index is only a hint. A partition of a Kafka broker is one piece
(broker_topics.py). Source: ours.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kminilog.columns.message_batches import batches_in_turn
from kminilog.columns.windows import index_hints
from kminilog.errors import SourceError
from kminilog.format.message import Message
from kminilog.jobs.source.description import Source
from kminilog.jobs.source.pieces import SPLIT_BYTES
from kminilog.jobs.source.places import records_of
from kminilog.jobs.source.source_files import SourceFile, changed
from kminilog.jobs.source.source_topics import SourceSegment, found_at, segments_of
from kminilog.jobs.source.tasks import task_groups
from kminilog.storage.segment.scan import fault
from kminilog.storage.segment.segment import Segment
from kminilog.text import offsets

if TYPE_CHECKING:
    from kminilog.jobs.source.broker_topics import PartitionPiece

_BATCH_RECORDS = 10_000
_BATCH_BYTES = 4 << 20
_REMEDY = "`kminilog verify` in its log dir lists all damage, `kminilog recover` what can be kept"


@dataclass(frozen=True)
class SegmentPiece:
    """The messages of a segment from byte `start` up to `end`, and from `first_offset` on.

    `stop_offset` must come after the last of them. At the end of a log, where it is None, at least
    `known_end` must.
    """

    rank: int
    partition: int
    segment: Segment
    start: int
    end: int
    first_offset: int
    stop_offset: int | None
    known_end: int

    @property
    def size_bytes(self) -> int:
        """How many bytes of the file it has."""
        return self.end - self.start


@dataclass(frozen=True)
class TopicColumns:
    """The segments of topics in source order, in pieces."""

    source: Source
    pieces: "list[SegmentPiece | PartitionPiece]"

    @classmethod
    def of(cls, source: Source, files: Sequence[SourceFile]) -> "TopicColumns":
        """Return what is to be read: `files` are the segments of the source's topics.

        Reads the index of large segments. Raises SourceError if the segments are others by now.
        """
        found = segments_of(source.paths)
        for one, file in zip(found, files, strict=False):
            if one.file.path != file.path:
                raise changed(file.path)
        if len(found) != len(files):
            raise changed(str(source))
        return cls(source, [*_all_pieces(found, files)])

    @property
    def size_bytes(self) -> int:
        """How many bytes the segments have."""
        return sum(piece.size_bytes for piece in self.pieces)

    @property
    def staged_bytes(self) -> int:
        """As many: they are messages already."""
        return self.size_bytes

    def groups(self, cores: int) -> "list[list[SegmentPiece | PartitionPiece]]":
        """Return the pieces of each task: neighbours, with about as many bytes in each task."""
        return task_groups(self.pieces, lambda piece: piece.size_bytes, cores=cores)

    def read(self, items: "Sequence[SegmentPiece | PartitionPiece]") -> Iterator[pa.RecordBatch]:
        """Yield the messages of pieces as records, with the columns of `Columns`.

        Raises SourceError for the first byte that belongs to no message in its place.
        """
        same_places = self.source.same_places
        for piece in items:
            try:
                if isinstance(piece, SegmentPiece):
                    yield from _read(piece, same_places=same_places)
                else:
                    yield from _read_partition(piece, same_places=same_places)
            except OSError as error:
                reason = error.strerror or str(error)
                raise SourceError(error.filename or str(self.source), reason=reason) from error


def _all_pieces(
    found: Sequence[SourceSegment], files: Sequence[SourceFile]
) -> "Iterator[SegmentPiece | PartitionPiece]":
    parts = zip(found, files, strict=True)
    for _, group in groupby(parts, lambda part: part[0].segment.log_path.parent):
        brokers = []
        for one, file in group:
            if isinstance(one.segment, Segment):
                yield from _pieces(one, one.segment, file)
            else:
                brokers.append((one.segment, file))
        if brokers:
            yield brokers[0][0].piece(brokers)


def _pieces(found: SourceSegment, segment: Segment, file: SourceFile) -> Iterator[SegmentPiece]:
    begins = [(0, segment.first_offset), *_cuts(segment, file.size_bytes)]
    ends = [*begins[1:], (file.size_bytes, found.following_offset)]
    for (start, first), (end, stop) in zip(begins, ends, strict=True):
        yield SegmentPiece(
            file.rank, found.partition, segment, start, end, first, stop, found.known_end
        )


def _cuts(segment: Segment, size_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield where a segment is cut, about every SPLIT_BYTES: byte and offset of a message."""
    wanted = np.arange(SPLIT_BYTES, size_bytes, SPLIT_BYTES)
    if not len(wanted):
        return
    hints = index_hints(segment.index.path)
    slots = np.unique(hints.searchsorted(wanted))
    for position in hints[slots[slots < len(hints)]].tolist():
        message = found_at(segment, position) if position < size_bytes else None
        if message is not None:
            yield position, message.offset


def _read(piece: SegmentPiece, *, same_places: bool) -> Iterator[pa.RecordBatch]:
    segment, position, next_offset = piece.segment, piece.start, piece.first_offset
    for batch, end in batches_in_turn(segment, position, next_offset, piece.end):
        offsets_here = batch.column("offset")
        rows = offsets_here.to_numpy() - segment.first_offset
        rejected = pa.nulls(len(batch), pa.string())
        columns = [batch.column("key"), batch.column("value"), rejected]
        if same_places:
            columns += [pa.repeat(pa.scalar(piece.partition, pa.int64()), len(batch)), offsets_here]
        yield records_of(piece.rank, batch.column("position"), rows, *columns)
        position, next_offset = end, next_offset + len(batch)
    stop_offset = piece.stop_offset
    if stop_offset is None:
        stop_offset = max(next_offset, piece.known_end)
    if (position, next_offset) != (piece.end, stop_offset):
        raise _fault(piece, position, next_offset)


def _read_partition(piece: "PartitionPiece", *, same_places: bool) -> Iterator[pa.RecordBatch]:
    """Yield the records of a partition of a Kafka broker; a batch has records of one segment."""
    for rank, of_segment in groupby(piece.records(), lambda found: found[0]):
        rows: list[tuple[int, bytes | None, bytes | None, int]] = []
        size_bytes = 0
        for _, position, record in of_segment:
            rows.append((position, record.key, record.value, record.offset))
            size_bytes += len(record.key or b"") + len(record.value or b"")
            if len(rows) == _BATCH_RECORDS or size_bytes >= _BATCH_BYTES:
                yield _batch(piece, rank, rows, same_places=same_places)
                rows, size_bytes = [], 0
        if rows:
            yield _batch(piece, rank, rows, same_places=same_places)


def _batch(
    piece: "PartitionPiece",
    rank: int,
    rows: Sequence[tuple[int, bytes | None, bytes | None, int]],
    *,
    same_places: bool,
) -> pa.RecordBatch:
    positions, keys, values, offsets_here = zip(*rows, strict=True)
    place, count = np.array(positions), len(rows)
    columns = [pa.array(keys, pa.binary()), pa.array(values, pa.binary())]
    columns.append(pa.nulls(count, pa.string()))
    if same_places:
        partition = pa.scalar(piece.topic_partition.partition, pa.int64())
        columns += [pa.repeat(partition, count), pa.array(offsets_here)]
    return records_of(rank, place, place, *columns)


def _fault(piece: SegmentPiece, position: int, next_offset: int) -> SourceError:
    """Return the error for what stands where a message with the next offset should."""
    path, found = str(piece.segment.log_path), None
    if position < piece.end:
        _, outcome = next(piece.segment.scan(position), (position, None))
        if outcome is None:  # somebody has cut the file meanwhile
            return changed(path)
        if isinstance(outcome, Message) and outcome.is_compressed:
            found = f"byte {position}: a message compressed with {outcome.codec}"
            reason = f"{found}; only `kminilog dump --deep` looks inside, and only with gzip"
            return SourceError(path, reason=reason)
        found = fault(outcome, next_offset)
    ends = f"what follows begins with offset {piece.stop_offset}, not with {next_offset}"
    if piece.stop_offset is None:
        gone = offsets(range(next_offset, piece.known_end), "were")
        ends = f"{gone} on the disk, the log ends before them"
    return SourceError(path, reason=f"byte {position}: {found or ends}; {_REMEDY}")
