"""How far a segment is valid, and what is whole after damage: fast twins of two plain functions.

The file is read in windows, and each window is checked as a whole. The index gives hints where
messages begin; every hint is verified. If something is wrong, the plain twin names the fault.
Recovery takes both functions as one value, `FAST`. Source: storage/segment/scan.py.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from kminilog.columns.boundaries import Positions
from kminilog.columns.checking import Structure
from kminilog.columns.layout import are_due, due
from kminilog.columns.windows import WINDOW_BYTES, checked_windows, index_hints
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import MAX_INSIDE
from kminilog.storage.segment.scan import SegmentScan, SegmentScanner
from kminilog.storage.segment.scan import scan_segment as scan_plainly
from kminilog.storage.segment.segment import Segment
from kminilog.storage.segment.whole_messages import WholeMessages, is_batch, whole_messages

_FEW_MESSAGES = 100


def scan_segment(segment: Segment, *, window_bytes: int = WINDOW_BYTES) -> SegmentScan:
    """Return what `storage.segment.scan.scan_segment` returns; O(file), memory O(window).

    While a writer appends, it may see one message more or less than the plain twin.
    """
    next_offset, valid_bytes, last_indexed = segment.first_offset, 0, 0
    entries: list[IndexEntry] = []
    hints = index_hints(segment.index.path)
    for start, _, found in checked_windows(segment, hints, window_bytes=window_bytes):
        messages = found.first(count_following(found, next_offset))
        positions = messages.positions + start
        slots = _due(segment, positions, last_indexed, hints)
        if len(slots):
            relative_offsets = (messages.offsets[slots] - segment.base_offset).tolist()
            entries += map(IndexEntry, relative_offsets, positions[slots].tolist())
            last_indexed = entries[-1].position
        if len(messages):
            next_offset = int(messages.offsets[-1]) + 1
        valid_bytes = start + messages.end
        if len(messages) < len(found):
            break
    if valid_bytes == segment.file_bytes:
        return SegmentScan(next_offset, valid_bytes, entries, None)
    here = IndexEntry(next_offset - segment.base_offset, valid_bytes)
    stopped = scan_plainly(segment, here)
    if stopped.valid_bytes != valid_bytes:  # a writer has appended meanwhile
        return scan_plainly(segment)
    return SegmentScan(next_offset, valid_bytes, entries, stopped.reason)


def count_whole_messages(
    segment: Segment,
    position: int = 0,
    *,
    few: int = _FEW_MESSAGES,
    window_bytes: int = WINDOW_BYTES,
) -> WholeMessages:
    """Return what the plain `count_whole_messages` returns; O(bytes), memory O(window).

    A `few` messages are read one by one before each whole window. Else frequent damage would cost a
    whole window each time.
    """
    limit = segment.first_offset + segment.file_bytes
    message_count = next_offset = batch_count = 0
    for offsets, batches in _offsets_of_whole(segment, position, few, window_bytes):
        message_count += len(offsets) - batches
        batch_count += batches
        next_offset = max(next_offset, int(offsets[offsets < limit].max(initial=-1)) + 1)
    return WholeMessages(message_count, next_offset, batch_count)


def _offsets_of_whole(
    segment: Segment, position: int, few: int, window_bytes: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the offsets of what is whole at or after a position, piece by piece, and how many of
    these are batches."""
    hints = index_hints(segment.index.path)
    is_more = True
    while is_more:
        first, batches = [], 0
        for at, message in islice(whole_messages(segment.log_path, position), few):
            first.append(message.offset)
            batches += is_batch(message.magic)
            position = at + message.length_bytes
        yield np.array(first, np.int64), batches
        if is_more := len(first) == few:
            windows = checked_windows(segment, hints, position, window_bytes=window_bytes)
            for start, _, messages in windows:
                yield messages.offsets, 0
                position = start + messages.end


def count_following(messages: Structure, next_offset: int) -> int:
    """Return how many of the first messages continue the log from `next_offset` on.

    It applies the rule of `format.message.is_next_message` to each message. O(messages).
    """
    offsets = messages.offsets
    if not len(offsets):
        return 0
    before = np.append(np.int64(next_offset - 1), offsets[:-1])
    # Compare first, because the difference of two int64 may wrap around.
    steps = offsets - before
    does_follow = (offsets > before) & (
        (steps == 1) | (messages.is_compressed & (steps <= MAX_INSIDE))
    )
    return len(offsets) if does_follow.all() else int(np.argmin(does_follow))


def _due(segment: Segment, positions: Positions, last_indexed: int, hints: Positions) -> Positions:
    """Return the slots of the messages that get an index entry; try first those that have one."""
    interval_bytes = segment.index_interval_bytes
    if len(positions):
        guess = hints[slice(*hints.searchsorted([positions[0], positions[-1] + 1]))]
        if are_due(positions, last_indexed, interval_bytes, guess):
            return positions.searchsorted(guess)
    return np.array(due(positions.data, last_indexed, interval_bytes), np.int64)


FAST = SegmentScanner(scan_segment, count_whole_messages)
