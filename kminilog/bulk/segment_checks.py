"""The checks of one segment, fast if it is sound.

This is the fast twin of `verification.segment_checks.check_segment`.

A segment is perfectly sound if

    log           all messages have the right CRC and consistent fields, to the end of the file
    offsets       each follows the one before without a gap, from the name's on; none is compressed
    index         has exactly the entries that are due
    keys          belong to this partition, where that is known

Whole windows are checked for this. If a segment is not perfectly sound, the plain twin checks it
again: it names each fault, and accepts what is none. So both give the same summaries. Source:
verification/segment_checks.py.
"""

from collections.abc import Sequence

import numpy as np

from kminilog.bulk.boundaries import Positions
from kminilog.bulk.decoding import keys_of
from kminilog.bulk.fingerprints import add_messages
from kminilog.bulk.layout import are_due
from kminilog.bulk.murmur2 import partition_column
from kminilog.bulk.segment_scan import count_following
from kminilog.bulk.structure import Structure
from kminilog.bulk.windows import WINDOW_BYTES, checked_windows
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import SIZE_END
from kminilog.format.names import TopicPartition
from kminilog.partitioners.keyed import murmur2_partition
from kminilog.storage.publish.fingerprints import RangeSums
from kminilog.storage.regular_file import read_regular
from kminilog.storage.segment import Segment
from kminilog.verification.segment_checks import check_segment as check_plainly
from kminilog.verification.segment_summary import KeyedPartition, PartitionOf, SegmentSummary


def check_segment(
    topic_partition: TopicPartition,
    segment: Segment,
    partition_of: PartitionOf | None,
    borders: Sequence[int] = (),
    *,
    window_bytes: int = WINDOW_BYTES,
) -> SegmentSummary:
    """Return the summary that the plain twin returns; O(file), memory O(window + index).

    It is fast for a perfectly sound segment, and fastest if `partition_of` is a `KeyedPartition` by
    murmur2, or None. Another segment is read twice.
    """
    check = _SoundCheck(topic_partition.partition, segment, partition_of, RangeSums(borders))
    try:
        is_sound = check.run(window_bytes)
    except OSError:
        is_sound = False  # the plain twin reports why
    if is_sound:
        return check.summary()
    return check_plainly(topic_partition, segment, partition_of, borders)


class _SoundCheck:
    """One reading of a segment, up to the first thing that is not perfectly sound."""

    def __init__(
        self, partition: int, segment: Segment, partition_of: PartitionOf | None, sums: RangeSums
    ) -> None:
        self._partition = partition
        self._segment = segment
        self._partition_of = partition_of
        self._sums = sums
        self._next_offset = segment.first_offset
        self._last_indexed = self._log_bytes = self._entries_seen = 0
        self._entries: Positions = np.empty((0, 2), np.int64)  # offset, position

    def run(self, window_bytes: int) -> bool:
        """Return whether the whole segment is perfectly sound."""
        self._log_bytes = self._segment.file_bytes  # before the index, as the plain twin does
        data = read_regular(self._segment.index.path)
        if len(data) % ENTRY_SIZE_BYTES:
            return False
        self._entries = np.frombuffer(data, ">i4").astype(np.int64).reshape(-1, 2)
        self._entries[:, 0] += self._segment.base_offset
        indexed, end = self._entries[:, 1], 0
        if not (indexed[1:] > indexed[:-1]).all():
            return False  # and could not be searched
        windows = checked_windows(
            self._segment, indexed, end=self._log_bytes, window_bytes=window_bytes
        )
        for start, window, messages in windows:
            if not self._take(start, window, messages):
                return False
            end = start + messages.end
        return end == self._log_bytes and self._entries_seen == len(self._entries)

    def _take(self, start: int, window: memoryview, messages: Structure) -> bool:
        """Return whether the messages of a window are sound; add them to the sums."""
        count = len(messages)
        is_plain = not messages.is_compressed.any()
        if not is_plain or count_following(messages, self._next_offset) < count:
            return False
        if not self._is_index_right(start, messages):
            return False
        if self._partition_of and not self._are_at_home(self._partition_of, window, messages):
            return False
        if len(self._sums.borders):
            sizes = np.diff(messages.boundaries) - SIZE_END
            sizes_and_crcs = (sizes << 32 | messages.crcs.astype(np.int64)).view(np.uint64)
            add_messages(self._sums, messages.offsets, sizes_and_crcs)
        self._next_offset += count
        return True

    def _is_index_right(self, start: int, messages: Structure) -> bool:
        slots = self._entries[:, 1].searchsorted([start, start + messages.end])
        entries = self._entries[slice(*slots)]
        positions, interval_bytes = messages.positions + start, self._segment.index_interval_bytes
        if not are_due(positions, self._last_indexed, interval_bytes, entries[:, 1]):
            return False
        if len(entries):
            self._last_indexed = int(entries[-1, 1])
            self._entries_seen += len(entries)
        indexed = positions.searchsorted(entries[:, 1])
        return bool((messages.offsets[indexed] == entries[:, 0]).all())

    def _are_at_home(
        self, partition_of: PartitionOf, window: memoryview, messages: Structure
    ) -> bool:
        keys = keys_of(window, messages).drop_null()
        if isinstance(partition_of, KeyedPartition) and partition_of.rule is murmur2_partition:
            partitions = partition_column(keys, partition_of.partitions).to_numpy()
            return bool((partitions == self._partition).all())
        return all(partition_of(key) == self._partition for key in keys.to_pylist())

    def summary(self) -> SegmentSummary:
        """Return the summary of a sound segment; call it after `run` has returned True."""
        segment, next_offset = self._segment, self._next_offset
        count = next_offset - segment.first_offset
        return SegmentSummary(
            base_offset=segment.base_offset,
            name=segment.name,
            first_offset=segment.first_offset if count else None,
            last_offset=next_offset - 1 if count else None,
            message_count=count,
            log_bytes=self._log_bytes,
            index_entries=len(self._entries),
            findings=[],
            unchecked=[],
            start_offset=segment.first_offset,
            next_offset=next_offset,
            fingerprints=tuple(self._sums.rows()),
        )
