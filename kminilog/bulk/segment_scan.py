"""How far a segment is sound, and what is whole behind damage: fast twins of storage.examination.

The file is read in windows, and each is checked as a whole; the index gives hints where messages
begin, and is not believed. Where something is wrong, the plain twin is asked what to say of it.
`plan_recovery` takes both from here as its arguments. Source: storage/segment_scan.py.
"""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kminilog.bulk.boundaries import Positions
from kminilog.bulk.checking import check
from kminilog.bulk.columns import allocate
from kminilog.bulk.layout import are_due, due
from kminilog.bulk.structure import Structure
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import Message, NeedMoreBytes
from kminilog.storage.log_file import find_message, scan_file
from kminilog.storage.regular_file import open_regular, read_regular
from kminilog.storage.segment import Segment
from kminilog.storage.segment_scan import Examined, Remains
from kminilog.storage.segment_scan import examine as examine_plainly

WINDOW_BYTES = 1 << 22
_FIRST_WINDOW_BYTES = 1 << 16
_FEW_MESSAGES = 100


def examine(segment: Segment, *, window_bytes: int = WINDOW_BYTES) -> Examined:
    """Return what `storage.examination.examine` returns; O(file), memory O(window).

    Beside a writer it may see one message more or less, as the plain one may.
    """
    next_offset, sound_bytes, last_indexed = segment.first_offset, 0, 0
    entries: list[IndexEntry] = []
    hints = index_hints(segment.index.path)
    segment.index.load()
    present = np.array(segment.index.entries(), np.int64).reshape(-1, 2)
    true_count = 0
    for start, _, found in checked_windows(segment, hints, window_bytes=window_bytes):
        messages = found.first(count_following(found, next_offset))
        positions = messages.positions + start
        slots = _due(segment, positions, last_indexed, hints)
        if len(slots):
            relative_offsets = (messages.offsets[slots] - segment.base_offset).tolist()
            entries += map(
                IndexEntry._make, zip(relative_offsets, positions[slots].tolist(), strict=True)
            )
            last_indexed = entries[-1].position
        if len(messages):
            true_count += _count_true(segment, present, positions, messages.offsets, next_offset)
            next_offset = int(messages.offsets[-1]) + 1
        sound_bytes = start + messages.end
        if len(messages) < len(found):
            break
    if sound_bytes == segment.file_bytes:
        return Examined(next_offset, sound_bytes, entries, None, true_count)
    here = IndexEntry(next_offset - segment.base_offset, sound_bytes)
    stopped = examine_plainly(segment, here)
    if stopped.sound_bytes != sound_bytes:  # a writer has gone on meanwhile
        return examine_plainly(segment)
    return Examined(next_offset, sound_bytes, entries, stopped.fault, true_count)


def survey(
    segment: Segment,
    position: int = 0,
    *,
    few: int = _FEW_MESSAGES,
    window_bytes: int = WINDOW_BYTES,
) -> Remains:
    """Return what `storage.examination.survey` returns; O(bytes), memory O(window).

    The first `few` messages behind each damage are read one by one: where damage is frequent, there
    would be a whole window for each.
    """
    limit = segment.first_offset + segment.file_bytes
    message_count = next_offset = 0
    for offsets in _offsets_of_whole(segment, position, few, window_bytes):
        message_count += len(offsets)
        next_offset = max(next_offset, int(offsets[offsets < limit].max(initial=-1)) + 1)
    return Remains(message_count, next_offset)


def _offsets_of_whole(
    segment: Segment, position: int, few: int, window_bytes: int
) -> Iterator[NDArray[np.int64]]:
    """Yield the offsets of the whole messages at or behind a position, piece by piece."""
    dialect, path = segment.dialect, segment.log_path
    hints = index_hints(segment.index.path)
    while found := find_message(dialect, path, position):
        position = found[0]
        first = []
        one_by_one = scan_file(dialect, path, position, _FIRST_WINDOW_BYTES)
        for _, outcome in islice(one_by_one, few):
            if isinstance(outcome, Message):
                first.append(outcome.offset)
                position += outcome.length_bytes
        yield np.array(first, np.int64)
        if len(first) == few:
            windows = checked_windows(segment, hints, begin=position, window_bytes=window_bytes)
            for start, _, messages in windows:
                yield messages.offsets
                position = start + messages.end


def count_following(messages: Structure, next_offset: int) -> int:
    """Return how many messages in front have offsets that may follow each other from this one on.

    The same as `format.message.follows` for each.
    """
    offsets = messages.offsets
    if not len(offsets):
        return 0
    before = np.append(np.int64(next_offset - 1), offsets[:-1])
    # Larger at all, because the difference of two int64 may wrap around.
    does_follow = (offsets > before) & (messages.is_compressed | (offsets - before == 1))
    return len(offsets) if does_follow.all() else int(np.argmin(does_follow))


def _due(segment: Segment, positions: Positions, last_indexed: int, hints: Positions) -> Positions:
    """Return which of the messages at these positions get an entry, mostly those that have one."""
    interval_bytes = segment.index_interval_bytes
    if len(positions):
        guess = hints[slice(*hints.searchsorted([positions[0], positions[-1] + 1]))]
        if are_due(positions, last_indexed, interval_bytes, guess):
            return positions.searchsorted(guess)
    return np.array(due(positions.data, last_indexed, interval_bytes), np.int64)


def _count_true(
    segment: Segment,
    present: NDArray[np.int64],
    positions: Positions,
    offsets: NDArray[np.int64],
    next_offset: int,
) -> int:
    """Return how many index entries lead to one of these messages; see `leads_to`."""
    first, last = present[:, 1].searchsorted([positions[0], positions[-1] + 1])
    relative_offsets, entry_positions = present[first:last].T
    slots = positions.searchsorted(entry_positions)
    before = np.append(np.int64(next_offset - 1), offsets[:-1]) - segment.base_offset
    is_true = (
        (positions[slots] == entry_positions)
        & (before[slots] < relative_offsets)
        & (relative_offsets <= (offsets - segment.base_offset)[slots])
    )
    return int(is_true.sum())


def checked_windows(
    segment: Segment,
    hints: Positions,
    end: int | None = None,
    *,
    begin: int = 0,
    window_bytes: int = WINDOW_BYTES,
) -> Iterator[tuple[int, memoryview, Structure]]:
    """Yield a `.log` window by window: its position, its bytes, and the sound messages in front.

    From byte `begin` to byte `end`, or to the end that there is now. Ends behind the first window
    in which something is wrong. The bytes are only good until the next window.
    """
    buffer = allocate(min(window_bytes, _FIRST_WINDOW_BYTES))
    with open(segment.log_path, "rb", buffering=0, opener=open_regular) as file:
        position = begin
        end = os.fstat(file.fileno()).st_size if end is None else end
        while position < end:
            wanted = buffer[: end - position].data
            window = wanted[: os.preadv(file.fileno(), [wanted], position)]
            first_hint, last_hint = hints.searchsorted([position, position + len(window)])
            found, outcome = check(segment.dialect, window, hints[first_hint:last_hint] - position)
            yield position, window, found
            position += found.end
            if outcome is None and len(window):
                buffer = _grown(buffer, window_bytes)
                continue
            if not isinstance(outcome, NeedMoreBytes) or outcome.needed_bytes > end - position:
                return
            if outcome.needed_bytes > len(buffer):
                buffer = allocate(outcome.needed_bytes)
            elif not found.end:
                return  # somebody has cut the file meanwhile
            buffer = _grown(buffer, window_bytes)


def _grown(buffer: NDArray[np.uint8], window_bytes: int) -> NDArray[np.uint8]:
    """Windows begin small: behind damage the next one may be near."""
    larger = min(4 * len(buffer), window_bytes)
    return allocate(larger) if larger > len(buffer) else buffer


def index_hints(index_path: Path) -> Positions:
    """Return the positions in an index file, whatever they are worth; none if there is no file."""
    try:
        data = read_regular(index_path)
    except FileNotFoundError:
        data = b""
    fields = np.frombuffer(data, ">i4", len(data) // 8 * 2).astype(np.int64)
    positions = fields[1::2]
    is_ascending = bool((positions[1:] > positions[:-1]).all())
    return positions if is_ascending else np.unique(positions)
