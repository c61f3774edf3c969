"""From the bytes of a `.log` to Arrow record batches, by windows.

    file --windows--> valid messages that follow each other --> columns --> batches
                | stops at anything else
            the plain search: a gap, a large message, the end of the log, or the damage

`columns` checks and decodes a window as a whole. If it stops, the plain engine looks at that place,
so that faults have the same names and positions as everywhere else. The index gives hints where
messages begin; every hint is verified. Memory stays at a few windows, or at one message if that is
larger. This module does not know why a segment is read.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from kminilog.columns.checking import Structure
from kminilog.columns.decoding import SCHEMA
from kminilog.columns.decoding import to_batch as to_columns
from kminilog.columns.windows import checked_windows, index_hints
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.storage.segment.damage_scan import walk
from kminilog.storage.segment.search import (
    find_in_segment,
    misplaced_segment_error,
    refuse_compressed,
)
from kminilog.storage.segment.segment import Segment

WINDOW_BYTES = 1 << 21


def _count_in_turn(messages: Structure, next_offset: int) -> int:
    """Return how many of the first messages are uncompressed and continue from `next_offset`."""
    wanted = np.arange(len(messages), dtype=np.int64) + next_offset
    is_next = (messages.offsets == wanted) & ~messages.is_compressed
    return len(messages) if is_next.all() else int(np.argmin(is_next))


def valid_messages(
    segment: Segment, start_offset: int, end_offset: int, following: Segment | None
) -> Iterator[pa.RecordBatch]:
    """Yield the messages of a segment with offsets from `start_offset` to `end_offset` - 1.

    The batches have `columns.decoding.SCHEMA`, and at least one message each. `following` is the
    next segment, None if this is the last one. The result ends early if the log does. O(bytes of
    the range). As in `PartitionReader`, raises CorruptLogError for damage inside the range (a gap
    is damage unless the segment allows gaps), CompressedMessageError, and FileNotFoundError.
    """
    following_offset = following.first_offset if following else None
    while start_offset < end_offset:
        found = find_in_segment(segment, start_offset, following_offset=following_offset)
        if found is None and following and not segment.allows_gaps:
            raise misplaced_segment_error(following, segment)
        if found is None or found.message.offset >= end_offset:
            return
        refuse_compressed(found)
        start_offset = found.message.offset
        for batch, _ in batches_in_turn(segment, found.position, start_offset):
            yield batch.slice(0, end_offset - start_offset)
            start_offset += batch.num_rows
            if start_offset >= end_offset:
                return


def all_messages(segment: Segment) -> Iterator[pa.RecordBatch]:
    """Yield every message of a segment with a right CRC, in batches as `valid_messages`.

    Damage between messages is skipped. O(file) for a valid segment.
    """
    position = 0
    for batch, end in batches_in_turn(segment, 0, segment.first_offset):
        yield batch
        position = end
    if position == segment.file_bytes:
        return
    rows: list[tuple[int, Message]] = []
    total_bytes = 0
    for step in walk(segment, segment.file_bytes):
        if step.message and step.position >= position:
            rows.append((step.position, step.message))
            total_bytes += step.message.length_bytes
        if total_bytes > WINDOW_BYTES:
            yield _batch_of(rows)
            rows, total_bytes = [], 0
    if rows:
        yield _batch_of(rows)


def messages_between(segment: Segment, begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """Yield those of `all_messages` that begin at byte `begin` or later, and before `end`."""
    is_whole = begin == 0 and segment.file_bytes <= end
    for batch in all_messages(segment):
        positions = batch.column("position").to_numpy()
        found = (
            batch if is_whole else batch.filter(pa.array((positions >= begin) & (positions < end)))
        )
        if len(found):
            yield found


def batches_in_turn(
    segment: Segment, position: int, next_offset: int, end: int | None = None
) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield valid uncompressed messages, window by window, and the byte where each batch ends.

    They begin at byte `position`, and end before byte `end`; None is the end of the file. The first
    must have `next_offset`, and each later one the offset after the one before. The result ends
    before the first message that breaks this. The batches keep no bytes of a window.
    """
    hints = index_hints(segment.index.path)
    for start, window, found in checked_windows(
        segment, hints, position, end, window_bytes=WINDOW_BYTES
    ):
        messages = found.first(_count_in_turn(found, next_offset))
        if len(messages):
            yield to_columns(window, messages, start), start + messages.end
        next_offset += len(messages)
        if len(messages) < len(found):
            return


def to_batch(
    topic_partition: TopicPartition, segment: str, messages: pa.RecordBatch, columns: Sequence[str]
) -> pa.RecordBatch:
    """Return a record batch with these columns of the data source, for messages of one segment."""
    constants = {
        "topic": pa.scalar(topic_partition.topic, pa.string()),
        "partition": pa.scalar(topic_partition.partition, pa.int32()),
        "segment": pa.scalar(segment, pa.string()),
    }
    arrays = [
        pa.repeat(constants[name], len(messages)) if name in constants else messages.column(name)
        for name in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _batch_of(rows: Sequence[tuple[int, Message]]) -> pa.RecordBatch:
    columns = zip(*((m.offset, position, m.key, m.value) for position, m in rows), strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, SCHEMA.types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
