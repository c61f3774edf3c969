"""One `.index`/`.log` pair: append, flush, scan, and where it ends.

The `.log` is the source of truth: messages back to back, in the order of their offsets. The index
is derived from it and may lag behind it. An entry counts only if a message with its offset stands
where it points. A segment knows neither its neighbours nor when to roll.

Writing has two steps. `add` places a message in memory. `write` brings all added messages to the
page cache: the log first, then the index, so that the index never points past the log.
Source: S1 5.2 and 5.3.2; Kafka: LogSegment, FileMessageSet.
"""

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from kminilog.errors import CorruptLogError
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry, entry_for, is_due
from kminilog.format.message import Message, Outcome, is_next_message
from kminilog.format.names import LOG_SUFFIX, segment_name
from kminilog.storage.files import append_to, regular_status, sync, touch, truncate
from kminilog.storage.segment.log_file import SCAN_WINDOW_BYTES, message_at, scan_file
from kminilog.storage.segment.offset_index import OffsetIndex


class Segment:
    """One pair of files. Creating the object touches no file.

    `added` has the encoded messages that `write` has not written yet. `size_bytes` is the writer's:
    the file with the added messages, 0 until `open`. Readers ask for `file_bytes`. `allows_gaps` is
    for a log that Kafka has compacted: offsets are missing there. `widest_index_interval` is for
    `verify` alone: the greatest interval with which a writer may have made the index.
    """

    def __init__(
        self,
        directory: Path,
        base_offset: int,
        dialect: Dialect,
        index_interval_bytes: int,
        *,
        allows_gaps: bool = False,
        widest_index_interval: int = 0,
    ) -> None:
        self.directory = directory
        self.base_offset = base_offset
        self.dialect = dialect
        self.index_interval_bytes = index_interval_bytes
        self.allows_gaps = allows_gaps
        self.widest_index_interval = max(index_interval_bytes, widest_index_interval)
        self.size_bytes = 0
        self.added: list[bytes] = []

    @cached_property  # a log may have many segments, of which few are read
    def log_path(self) -> Path:
        """The path of the `.log` file."""
        return self.directory / (self.name + LOG_SUFFIX)

    @cached_property
    def index(self) -> OffsetIndex:
        """The `.index` file, not read yet."""
        return OffsetIndex(self.directory, self.base_offset)

    @property
    def name(self) -> str:
        """The 20 digits in the names of both files."""
        return segment_name(self.base_offset)

    @property
    def first_offset(self) -> int:
        """The offset of the first message, present or future; it follows from the name."""
        return self.dialect.first_offset(self.base_offset)

    @property
    def file_bytes(self) -> int:
        """The size of the `.log` file now; FileNotFoundError if it is gone."""
        return regular_status(self.log_path).st_size

    @property
    def last_append_ms(self) -> int | None:
        """The modification time of the `.log`: when it got its last message; None if empty."""
        status = regular_status(self.log_path)
        return status.st_mtime_ns // 1_000_000 if status.st_size else None

    # ---- reading

    def scan(
        self, position: int = 0, window_bytes: int = SCAN_WINDOW_BYTES
    ) -> Iterator[tuple[int, Outcome]]:
        """Yield each message from `position` on with its position; see `scan_file`."""
        return scan_file(self.dialect, self.log_path, position, window_bytes)

    def is_in_order(
        self, position: int, message: Message, next_offset: int, following_offset: int | None
    ) -> bool:
        """Tell if a message may stand at a position where `next_offset` is expected.

        If gaps are allowed, its offset may be greater. No crc covers an offset, so a greater one
        may be damage: it must lie between its neighbours. This reads the message after it.

            next_offset  <=  message.offset  <  offset of the message after it

        After the last message of a segment comes the first of the next one, `following_offset`. For
        the last message of a log (None), this check is not possible.
        """
        if is_next_message(message, next_offset):
            return True
        if not self.allows_gaps:
            return False
        after = message_at(self.dialect, self.log_path, position + message.length_bytes)
        limit = after.offset if after else following_offset
        return next_offset <= message.offset and (limit is None or message.offset < limit)

    def last_true_entry(self) -> IndexEntry | None:
        """Return the last index entry; None without entries, or if its message is not there."""
        self.index.load()
        entry = self.index.last_entry
        message = message_at(self.dialect, self.log_path, entry.position) if entry else None
        is_true = entry and message and message.offset == self.base_offset + entry.relative_offset
        return entry if is_true else None

    def end_offset(self) -> int:
        """Return one past the offset of the last message before any fault.

        An unfinished message, damage and a wrong offset are faults; a search tells which it is.
        Reads from the last index entry on, or the whole segment if that entry is wrong.
        """
        start, next_offset = start_of(self, self.last_true_entry())
        for position, outcome in self.scan(start):
            if not isinstance(outcome, Message):
                break
            if not self.is_in_order(position, outcome, next_offset, None):
                break
            next_offset = outcome.offset + 1
        return next_offset

    # ---- writing: for the one writer of the partition

    def open(self) -> None:
        """Create missing files, and load the state that `add` needs.

        The index comes first, so that no crash leaves a log without its index.
        """
        for path in (self.index.path, self.log_path):
            touch(path)
        self.size_bytes = self.file_bytes
        self.index.load()

    def add(self, offset: int, data: bytes) -> None:
        """Place an encoded message after the last one, in memory; add an index entry if it is due.

        `size_bytes` and the index include it at once; a reader sees it after `write`. O(1).
        """
        if is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
            self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
        self.added.append(data)
        self.size_bytes += len(data)

    def write(self) -> None:
        """Append the added messages to the files, in the page cache, the log first.

        Once it returns, they survive the death of this process. Raises OSError; the files may then
        hold part of the bytes, and `truncate_to` restores the earlier state.
        """
        if self.added:
            append_to(self.log_path, b"".join(self.added))
            self.added.clear()
            self.index.write()

    def flush(self) -> None:
        """Fsync both files: all that was written survives a power failure. Raises OSError."""
        sync(self.log_path)
        sync(self.index.path)

    def truncate_to(self, size_bytes: int, entry_count: int) -> None:
        """Truncate both files, and drop added messages.

        The `.log` keeps its modification time, because retention goes by it.
        """
        self.added.clear()
        status = regular_status(self.log_path)
        truncate(self.log_path, size_bytes)
        os.utime(self.log_path, ns=(status.st_atime_ns, status.st_mtime_ns))
        self.index.truncate_to(entry_count)
        self.size_bytes = size_bytes

    def remove(self) -> None:
        """Delete both files, the log first: after a crash no log is without its index.

        Once it returns, not even a power failure brings them back. So a caller that removes several
        segments, one after the other from an end of the log, never leaves a gap.
        """
        self.log_path.unlink(missing_ok=True)
        self.index.path.unlink(missing_ok=True)
        sync(self.directory)


def start_of(segment: Segment, entry: IndexEntry | None) -> tuple[int, int]:
    """Return position and offset of the message of an index entry; without one, of the first."""
    if entry is None:
        return 0, segment.first_offset
    return entry.position, segment.base_offset + entry.relative_offset


def damage_error(
    segment: Segment, position: int, reason: str, *, is_gap: bool = False
) -> CorruptLogError:
    """Return the error for damage at a place in a segment; the caller raises it."""
    remedy = "`kminilog verify` lists all damage, `kminilog recover` says what can be kept"
    if is_gap:
        remedy += "; allow gaps only if another program wrote this log"
    return CorruptLogError(str(segment.log_path), position=position, reason=reason, remedy=remedy)
