"""Which segment each message goes into, and which messages get an index entry.

The layout is that of `storage.partition.log`, except for rolls by age. The lengths of the messages
are enough to compute it. `due` is `format.index_entry.is_due` for all positions at once; tests
compare the two. This module does not know files. Source: storage/partition/log.py,
storage/segment/segment.py (`add`).
"""

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.settings import TopicSettings

Integers = NDArray[np.int64]


class SegmentMessages(NamedTuple):
    """Consecutive messages that go into one segment: those with the numbers `start` to `stop` - 1.

    `entries` has their index entries as rows of relative offset and position.
    """

    base_offset: int
    start: int
    stop: int
    entries: Integers


def due(
    positions: memoryview,
    last_indexed_position: int,
    interval_bytes: int,
    slots: range | None = None,
    at_most: int | None = None,
) -> list[int]:
    """Return the slots of the messages that get an index entry; positions are ascending.

    Only messages in `slots` count (None: all), and only the first `at_most` entries are returned.
    O(entries log slots).

    >>> due(np.array([0, 50, 101, 150, 201, 203]).data, 0, 100)
    [2, 5]
    """
    slots = range(len(positions)) if slots is None else slots
    found: list[int] = []
    last = last_indexed_position
    while at_most is None or len(found) < at_most:
        slot = bisect_right(positions, last + interval_bytes, slots.start, slots.stop)
        if slot >= slots.stop:
            break
        found.append(slot)
        last = positions[slot]
        slots = range(slot + 1, slots.stop)
    return found


def are_due(
    positions: Integers, last_indexed_position: int, interval_bytes: int, guess: Integers
) -> bool:
    """Tell if exactly the messages at the guessed positions get an index entry.

    `guess` is ascending. The answer is that of `due`, but computed at once: faster where an index
    gives the guess. O(entries log messages).

    >>> are_due(np.array([0, 50, 101, 150, 201, 203]), 0, 100, np.array([101, 203]))
    True
    """
    last = int(guess[-1]) if len(guess) else last_indexed_position
    if not len(positions) or int(positions[-1]) - last > interval_bytes:
        return not len(positions) and not len(guess)
    slots = positions.searchsorted(guess)
    if len(guess) and (last > positions[-1] or (positions[slots] != guess).any()):
        return False
    limits = np.append(last_indexed_position, guess[:-1])[: len(guess)] + interval_bytes
    in_front = np.where(slots, positions[slots - 1], -1)
    return bool(((in_front <= limits) & (limits < guess)).all())


class Layout:
    """Where the next message of a partition goes: the state of its last segment."""

    def __init__(
        self,
        dialect: Dialect,
        settings: TopicSettings,
        *,
        base_offset: int,
        next_offset: int | None = None,
        size_bytes: int = 0,
        entry_count: int = 0,
        last_indexed_position: int = 0,
    ) -> None:
        """Continue the segment named `base_offset`, which is empty unless the rest says more."""
        self.dialect = dialect
        self.settings = settings
        self.base_offset = base_offset
        self.next_offset = dialect.first_offset(base_offset) if next_offset is None else next_offset
        self.size_bytes = size_bytes
        self.entry_count = entry_count
        self.last_indexed_position = last_indexed_position

    def place(self, lengths: Integers) -> Iterator[SegmentMessages]:
        """Yield where the next messages go, in order; O(messages) in numpy, O(entries) in Python.

        A piece with another `base_offset` than the piece before begins a new segment. No length may
        be above segment.bytes.
        """
        ends = np.cumsum(lengths, dtype=np.int64)
        starts = ends - lengths
        view = starts.data
        start = 0
        while start < len(ends):
            shift = self.size_bytes - int(starts[start])  # from a place in `starts` to a position
            # No segment begins while it would have the name of this one, as after an empty one.
            ahead = 0
            while not self.dialect.can_follow(self.base_offset, self.next_offset + ahead):
                ahead += 1
            must_stay = start + ahead
            too_large = int(ends.searchsorted(self.settings.segment_bytes - shift, "right"))
            stop = max(must_stay, too_large)
            slots = range(start, min(stop, len(ends)))
            last_indexed, interval = self.last_indexed_position, self.settings.index_interval_bytes
            room = self.settings.segment_index_bytes // ENTRY_SIZE_BYTES - self.entry_count
            indexed = due(view, last_indexed - shift, interval, slots, max(room, 0))
            if room <= 0:
                stop = must_stay
            elif len(indexed) >= room:  # the index is full after that message
                stop = min(stop, max(must_stay, indexed[room - 1] + 1))
            stop = min(stop, len(ends))
            if stop > start:
                entry_slots = np.array([slot for slot in indexed if slot < stop], np.int64)
                positions = starts[entry_slots] + shift
                relative = entry_slots + (self.next_offset - self.base_offset - start)
                self.next_offset += stop - start
                self.entry_count += len(entry_slots)
                if len(positions):
                    self.last_indexed_position = int(positions[-1])
                entries = np.stack([relative, positions], axis=1)
                yield SegmentMessages(self.base_offset, start, stop, entries)
                self.size_bytes = int(ends[stop - 1]) + shift
            if stop < len(ends):
                self.base_offset = self.dialect.base_offset_for(self.next_offset)
                self.size_bytes = self.entry_count = self.last_indexed_position = 0
            start = stop
