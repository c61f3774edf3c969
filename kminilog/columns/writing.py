"""Writing columns of messages into the segments of a partition; the fast twin of `PartitionLog`.

The files equal, byte for byte, those that `PartitionLog.append` makes of the same messages, except
for rolls by age. It is for bulk jobs that write where nobody reads yet: a failure leaves a prefix
of the messages, and nothing is undone. The caller holds the lock, or writes into a directory of its
own. Source: storage/partition/log.py, storage/segment/segment.py.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from kminilog.columns.boundaries import Positions
from kminilog.columns.encoding import Encoded, encode_columns
from kminilog.columns.layout import Layout
from kminilog.columns.unnumbered import put_numbers
from kminilog.storage.files import append_to, sync
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.segment import Segment


class ColumnWriter:
    """Continues where an open `PartitionLog` ends, and closes that one; `reopen` opens it again."""

    def __init__(self, log: PartitionLog) -> None:
        log.close()
        self._log = log
        self._segment = log.segments()[-1]  # it is open
        self._touched = [self._segment]
        self._layout = Layout(
            log.dialect,
            log.settings,
            base_offset=self._segment.base_offset,
            next_offset=log.log_end_offset,
            size_bytes=self._segment.size_bytes,
            entry_count=len(self._segment.index),
            last_indexed_position=self._segment.index.last_position,
        )

    @property
    def next_offset(self) -> int:
        """The offset that the next message gets."""
        return self._layout.next_offset

    def append(self, keys: Any, values: Any) -> range:
        """Write equally long Arrow columns of keys and values, and return their offsets.

        Once it returns, the bytes are in the page cache: they survive a crash of the process;
        `flush` brings them to the disk. O(bytes). Raises MessageTooLargeError for a message above
        max.message.bytes or segment.bytes, NullValueError, ValueError for other columns, and
        OSError. Then some of the messages may have been written.
        """
        return self._append(encode_columns(self._log.dialect, self.next_offset, keys, values))

    def append_whole(self, data: memoryview, boundaries: Positions) -> range:
        """Write whole messages with any offsets, and return the offsets that they get.

        `boundaries` are those of `find_beginnings`. The offsets are put into `data` itself, which
        is possible because the CRC does not cover them. Survives, costs and raises as `append`,
        without the errors of columns.
        """
        positions = boundaries[:-1]
        put_numbers(data, positions, self.next_offset + np.arange(len(positions)))
        return self._append([Encoded(data, np.diff(boundaries))])

    def flush(self) -> None:
        """Bring all written bytes and file names to the disk; they then survive a power failure."""
        for segment in self._touched:
            segment.flush()
        sync(self._log.directory)
        del self._touched[:-1]

    def reopen(self) -> PartitionLog:
        """Return the log, opened with all that was written; append nothing here after that."""
        log = self._log
        return PartitionLog.open(log.directory, log.topic_partition, log.dialect, log.settings)

    def _append(self, messages: Iterable[Encoded]) -> range:
        first_offset = self.next_offset
        for encoded in messages:
            self._log.settings.check_message(int(encoded.lengths.max(initial=0)))
            start = 0
            for piece in self._layout.place(encoded.lengths):
                end = start + int(encoded.lengths[piece.start : piece.stop].sum())
                if piece.base_offset != self._segment.base_offset:
                    interval_bytes = self._log.settings.index_interval_bytes
                    self._segment = Segment(
                        self._log.directory, piece.base_offset, self._log.dialect, interval_bytes
                    )
                    self._segment.open()
                    self._touched.append(self._segment)
                append_to(self._segment.log_path, encoded.data[start:end])
                if len(piece.entries):
                    append_to(self._segment.index.path, piece.entries.astype(">i4").tobytes())
                start = end
        return range(first_offset, self.next_offset)
