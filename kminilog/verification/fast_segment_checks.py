"""The checks of one segment, fast except at its faults.

This is the fast twin of `verification.segment_checks.check_segment`.

A segment is perfectly valid if

    log           all messages have the right CRC and consistent fields, to the end of the file
    offsets       each follows the one before without a gap, from the name's on; none is compressed
    index         has exactly the entries that are due
    keys          belong to this partition, where that is known

Whole windows are checked for this. A segment that is not perfectly valid is read again: the plain
twin takes whole windows of messages that are in their place, and reads the others one by one. It
names each fault, and accepts what is none. So both give the same summaries. Source:
verification/segment_checks.py.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from kminilog.columns.boundaries import Positions
from kminilog.columns.checking import Structure
from kminilog.columns.decoding import keys_of
from kminilog.columns.fingerprints import add_messages
from kminilog.columns.layout import are_due
from kminilog.columns.murmur2 import partition_column
from kminilog.columns.segment_scan import count_following
from kminilog.columns.windows import WINDOW_BYTES, checked_windows, index_hints
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import SIZE_END
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.files import read_regular
from kminilog.storage.publish.fingerprints import RangeSums
from kminilog.storage.segment.segment import Segment
from kminilog.verification.findings import NewRest
from kminilog.verification.segment_checks import SegmentCheck
from kminilog.verification.summaries import (
    KeyedPartition,
    PartitionOf,
    Placement,
    SegmentSummary,
)

_FEW_MESSAGES = 100


def check_segment(
    topic_partition: TopicPartition,
    segment: Segment,
    placement: Placement = (),
    borders: Sequence[int] = (),
    *,
    few: int = _FEW_MESSAGES,
    window_bytes: int = WINDOW_BYTES,
    known: SegmentSummary | None = None,
    rest: NewRest | None = None,
) -> SegmentSummary:
    """Return the summary that the plain twin returns; O(file), memory O(window + index).

    It is fastest for a perfectly valid segment; another one is read twice. The rules of a
    `placement` should be `KeyedPartition` by murmur2: any other is called for each key.

    At each fault it reads a `few` messages one by one, as the plain twin does, and twice as many
    each time while faults are frequent. Else each of them would cost a whole window.
    """
    begun = known or SegmentSummary.of_nothing(segment)
    check = _ValidCheck(topic_partition.partition, segment, placement, RangeSums(borders), begun)
    try:
        is_valid = check.run(window_bytes)
    except OSError:
        is_valid = False  # the plain twin reports why
    if is_valid:
        return check.summary()
    again = _SecondReading(topic_partition, segment, placement, RangeSums(borders), begun, rest)
    return again.run(lambda: again.read(few, window_bytes))


class _ValidCheck:
    """One reading of a segment, up to the first thing that is not perfectly valid."""

    def __init__(
        self,
        partition: int,
        segment: Segment,
        placement: Placement,
        sums: RangeSums,
        known: SegmentSummary,
    ) -> None:
        self._partition = partition
        self._segment = segment
        self._placement = placement
        self._sums = sums
        self._known = known
        self._next_offset = known.next_offset or 0
        self._last_indexed = self._log_bytes = self._entries_seen = self._unplaced_count = 0
        self._entries: Positions = np.empty((0, 2), np.int64)  # offset, position

    def run(self, window_bytes: int) -> bool:
        """Tell if the whole segment is perfectly valid."""
        self._log_bytes = self._segment.file_bytes  # before the index, as the plain twin does
        data = read_regular(self._segment.index.path)
        if len(data) % ENTRY_SIZE_BYTES:
            return False
        self._entries = np.frombuffer(data, ">i4").astype(np.int64).reshape(-1, 2)
        self._entries[:, 0] += self._segment.base_offset
        indexed, end = self._entries[:, 1], self._known.log_bytes
        if not (indexed[1:] > indexed[:-1]).all():
            return False  # and could not be searched
        self._entries_seen = self._known.index_entries
        if self._entries_seen != indexed.searchsorted(end) or self._log_bytes < end:
            return False
        self._last_indexed = int(indexed[self._entries_seen - 1]) if self._entries_seen else 0
        windows = checked_windows(
            self._segment, indexed, end, self._log_bytes, window_bytes=window_bytes
        )
        for start, window, messages in windows:
            if not self._take(start, window, messages):
                return False
            end = start + messages.end
        return end == self._log_bytes and self._entries_seen == len(self._entries)

    def _take(self, start: int, window: memoryview, messages: Structure) -> bool:
        """Tell if the messages of a window are valid; add them to the sums."""
        count = len(messages)
        is_plain = not messages.is_compressed.any()
        if not is_plain or count_following(messages, self._next_offset) < count:
            return False
        if not self._is_index_right(start, messages):
            return False
        at_home, unplaced_count = _keys_at_home(self._placement, self._partition, window, messages)
        if at_home < count:
            return False
        self._unplaced_count += unplaced_count
        _add_to(self._sums, messages)
        self._next_offset += count
        return True

    def _is_index_right(self, start: int, messages: Structure) -> bool:
        slots = self._entries[:, 1].searchsorted([start, start + messages.end])
        entries = self._entries[slice(*slots)]
        positions, interval_bytes = messages.positions + start, self._segment.widest_index_interval
        if not are_due(positions, self._last_indexed, interval_bytes, entries[:, 1]):
            return False
        if len(entries):
            self._last_indexed = int(entries[-1, 1])
            self._entries_seen += len(entries)
        indexed = positions.searchsorted(entries[:, 1])
        return bool((messages.offsets[indexed] == entries[:, 0]).all())

    def summary(self) -> SegmentSummary:
        """Return the summary of a valid segment; call it after `run` has returned True."""
        known, next_offset = self._known, self._next_offset
        count = known.message_count + next_offset - (known.next_offset or 0)
        first_offset = known.first_offset if known.message_count else known.start_offset
        return known._replace(
            first_offset=first_offset if count else None,
            last_offset=next_offset - 1 if count else None,
            message_count=count,
            log_bytes=self._log_bytes,
            index_entries=len(self._entries),
            next_offset=next_offset,
            unplaced_count=known.unplaced_count + self._unplaced_count,
            fingerprints=(*known.fingerprints, *self._sums.rows()),
        )


class _SecondReading(SegmentCheck):
    """The plain check, which takes whole windows between the faults."""

    def read(self, few: int, window_bytes: int) -> None:
        """Read the log to its end."""
        hints = index_hints(self._segment.index.path)
        position, at_least = self._known.log_bytes, few
        while position < self._log_bytes:
            count = self._message_count
            position = self._read_windows(hints, position, window_bytes)
            is_worth_it = self._message_count - count > 2 * few
            at_least = few if is_worth_it else 2 * at_least
            position = self.read_on(position, at_least)

    def _read_windows(self, hints: Positions, position: int, window_bytes: int) -> int:
        """Take messages that are in their place; return where the first other one begins."""
        windows = checked_windows(
            self._segment, hints, position, self._log_bytes, window_bytes=window_bytes
        )
        for start, window, found in windows:
            count, unplaced_count = self._count_in_place(window, found)
            messages = found.first(count)
            self.take_messages((messages.positions + start).data, unplaced_count)
            _add_to(self._sums, messages)
            position = start + messages.end
            if len(messages) < len(found):
                break
        return position

    def _count_in_place(self, window: memoryview, found: Structure) -> tuple[int, int]:
        """Return how many of the first messages are plain, at home, and have the next offsets.

        The second number is that of `_keys_at_home`.
        """
        if found.is_compressed.any():
            found = found.first(int(np.argmax(found.is_compressed)))
        found = found.first(count_following(found, self._expected))
        partition = self._topic_partition.partition
        return _keys_at_home(self._placement, partition, window, found)


def _keys_at_home(
    placement: Placement, partition: int, window: memoryview, messages: Structure
) -> tuple[int, int]:
    """Return how many of the first messages have no key, or none that belongs elsewhere.

    The second number is how many of these have a key of which nobody knows where it belongs. The
    offsets of the messages must follow each other.
    """
    if not len(messages):
        return 0, 0
    first, count = int(messages.offsets[0]), len(messages)
    is_unplaced, next_offset = ~messages.is_key_null, first + count
    slot = bisect_right(placement, first, key=lambda placed: placed.next_offset)
    for placed in takewhile(lambda placed: placed.first_offset < next_offset, placement[slot:]):
        start, end = (min(max(at - first, 0), count) for at in placed[:2])
        is_unplaced[start:end] = False
        at_home = _count_at_home(
            placed.partition_of, partition, window, messages.between(start, end)
        )
        if start + at_home < end:
            count = start + at_home
            break
    return count, int(is_unplaced[:count].sum())


def _count_at_home(
    partition_of: PartitionOf, partition: int, window: memoryview, messages: Structure
) -> int:
    """Return how many of the first messages have no key, or one that belongs to the partition."""
    keys = keys_of(window, messages).drop_null()
    if isinstance(partition_of, KeyedPartition) and partition_of.rule is murmur2_partition:
        is_at_home = partition_column(keys, partition_of.partitions).to_numpy() == partition
    else:
        is_at_home = np.array([partition_of(key) == partition for key in keys.to_pylist()], bool)
    if is_at_home.all():
        return len(messages)
    return int(np.flatnonzero(~messages.is_key_null)[np.argmin(is_at_home)])


def _add_to(sums: RangeSums, messages: Structure) -> None:
    if len(sums.borders):
        sizes = np.diff(messages.boundaries) - SIZE_END
        sizes_and_crcs = (sizes << 32 | messages.crcs.astype(np.int64)).view(np.uint64)
        add_messages(sums, messages.offsets, sizes_and_crcs)
