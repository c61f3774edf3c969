"""From the bytes of a `.log` to Arrow record batches, by windows.

    file --window--> decode_window: sound messages that follow each other --> columns --> batches
                          | stops at anything else
                     Segment.locate: a gap, a large message, the end of the log, or the damage

A window is checked and decoded as a whole (`bulk`); what stops it is looked at by the plain engine,
so that faults have the names and places that they have everywhere else. The index says where
messages probably begin, and is not believed. Memory stays at a few windows, or at one message if
that is larger. Which segments are read, and why, is not known here.
"""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from kminilog.bulk.boundaries import NO_HINTS, Positions
from kminilog.bulk.checking import check
from kminilog.bulk.columns import allocate
from kminilog.bulk.decoding import to_batch as to_columns
from kminilog.bulk.segment_scan import index_hints
from kminilog.bulk.structure import Structure
from kminilog.format.dialect import Dialect
from kminilog.format.message import Message
from kminilog.format.names import TopicPartition
from kminilog.storage.regular_file import open_regular
from kminilog.storage.segment import Segment, misplaced_segment, refuse_compressed
from kminilog.verification.damage_scan import walk

WINDOW_BYTES = 1 << 21


class Decoded(NamedTuple):
    """Some messages as Arrow columns of the same length, and where the last one ends."""

    offset: Any
    position: Any
    key: Any
    value: Any
    end_position: int

    def __bool__(self) -> bool:
        return len(self.offset) > 0

    @property
    def next_offset(self) -> int:
        """One past the last offset."""
        return int(self.offset[-1].as_py()) + 1

    def before(self, end_offset: int) -> "Decoded":
        """Return the messages with offsets below `end_offset`, of those that follow each other."""
        count = max(end_offset - self.offset[0].as_py(), 0)
        offset, position, key, value = (column.slice(0, count) for column in self[:4])
        return Decoded(offset, position, key, value, self.end_position)


def decode_window(
    dialect: Dialect, data: Any, position: int, next_offset: int, hints: Positions = NO_HINTS
) -> Decoded:
    """Return the sound plain messages at the beginning of some bytes, as far as they go.

    The first must have `next_offset`, and each the offset after the one before it. `position` is
    where in the file the bytes begin; `hints` are positions in `data` at which messages probably
    begin. The columns keep nothing of `data`.
    """
    found = check(dialect, data, hints).messages
    messages = found.first(_count_in_turn(found, next_offset))
    offsets, positions, keys, values = to_columns(data, messages, position).columns
    return Decoded(offsets, positions, keys, values, position + messages.end)


def _count_in_turn(messages: Structure, next_offset: int) -> int:
    """Return how many messages in front are plain and have the offsets from this one on."""
    wanted = np.arange(len(messages), dtype=np.int64) + next_offset
    is_next = (messages.offsets == wanted) & ~messages.is_compressed
    return len(messages) if is_next.all() else int(np.argmin(is_next))


def sound_messages(
    segment: Segment, start_offset: int, end_offset: int, following: Segment | None
) -> Iterator[Decoded]:
    """Yield the messages of a segment with offsets from `start_offset` to `end_offset` - 1.

    `following` is the next segment, None if this is the last. Raises CorruptLogError for damage
    that is in the way, a gap among it unless the segment allows gaps, and CompressedMessageError,
    as `PartitionReader` does, and FileNotFoundError.
    """
    following_offset = following.first_offset if following else None
    while start_offset < end_offset:
        located = segment.locate(start_offset, following_offset=following_offset)
        if located is None and following and not segment.allows_gaps:
            raise misplaced_segment(following, segment)
        if located is None or located.message.offset >= end_offset:
            return
        refuse_compressed(segment, located)
        start_offset = located.message.offset
        window_bytes = max(WINDOW_BYTES, located.message.length_bytes)
        for decoded in _windows(segment, located.position, start_offset, window_bytes):
            yield decoded.before(end_offset)
            start_offset = decoded.next_offset
            if start_offset >= end_offset:
                return


def all_messages(segment: Segment) -> Iterator[Decoded]:
    """Yield every message of a segment whose crc is right, whatever stands between them."""
    position = 0
    for decoded in _windows(segment, 0, segment.first_offset, WINDOW_BYTES):
        yield decoded
        position = decoded.end_position
    if position == segment.file_bytes:
        return
    batch: list[tuple[int, Message]] = []
    batch_bytes = 0
    for step in walk(segment, segment.file_bytes):
        if step.message and step.position >= position:
            batch.append((step.position, step.message))
            batch_bytes += step.message.length_bytes
        if batch_bytes > WINDOW_BYTES:
            yield _columns(batch, batch[-1][0])
            batch, batch_bytes = [], 0
    if batch:
        yield _columns(batch, batch[-1][0])


def to_batch(
    topic_partition: TopicPartition, segment: str, decoded: Decoded, columns: Sequence[str]
) -> pa.RecordBatch:
    """Return these columns of some messages as a record batch."""
    count = len(decoded.offset)
    constants = {
        "topic": pa.scalar(topic_partition.topic, pa.string()),
        "partition": pa.scalar(topic_partition.partition, pa.int32()),
        "segment": pa.scalar(segment, pa.string()),
    }
    arrays = [
        pa.repeat(constants[column], count) if column in constants else getattr(decoded, column)
        for column in columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _windows(
    segment: Segment, position: int, next_offset: int, window_bytes: int
) -> Iterator[Decoded]:
    """Yield messages that follow each other, up to the first that is not whole in its window."""
    hints = index_hints(segment.index.path)
    window = allocate(max(window_bytes, WINDOW_BYTES)).data
    descriptor = open_regular(segment.log_path)
    try:
        while read_bytes := os.preadv(descriptor, [window[:window_bytes]], position):
            first_hint, last_hint = hints.searchsorted([position, position + read_bytes])
            inside = hints[first_hint:last_hint] - position
            decoded = decode_window(
                segment.dialect, window[:read_bytes], position, next_offset, inside
            )
            if not decoded:
                return
            yield decoded
            position, next_offset = decoded.end_position, decoded.next_offset
            window_bytes = WINDOW_BYTES
    finally:
        os.close(descriptor)


def _columns(messages: Sequence[tuple[int, Message]], end_position: int) -> Decoded:
    return Decoded(
        pa.array([message.offset for _, message in messages], pa.int64()),
        pa.array([position for position, _ in messages], pa.int64()),
        pa.array([message.key for _, message in messages], pa.binary()),
        pa.array([message.value for _, message in messages], pa.binary()),
        end_position,
    )
