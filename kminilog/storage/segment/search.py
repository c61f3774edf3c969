"""The search for a message in one segment: an index entry, and a walk from there.

    .index  --bisect-->  entry  --one read-->  bytes up to the next entry  --walk-->  message

An entry counts only if a message with its offset stands where it points. Otherwise the walk begins
again at the first message. Where the walk stops early, this module reads more of the file: the
bytes may have ended too early, or there may be an allowed gap. If neither, it raises the damage
with its place. Source: S1 5.3.2; Kafka: LogSegment.read, LogSegment.translateOffset.
"""

import os
from typing import NamedTuple

from kminilog.errors import CompressedMessageError, CorruptLogError
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import Message, NeedMoreBytes, Outcome, decode
from kminilog.storage.files import open_regular
from kminilog.storage.segment.log_file import ONE_MESSAGE_BYTES, SCAN_WINDOW_BYTES, message_at
from kminilog.storage.segment.lookup import UNTRACED, Tracer, walk
from kminilog.storage.segment.scan import fault
from kminilog.storage.segment.segment import Segment, damage_error, start_of
from kminilog.storage.segment.whole_messages import whole_messages


class Found(NamedTuple):
    """A message, where it stands, and what the search read to find it.

    `scanned_bytes` counts from the beginning of the walk to the end of the message.
    """

    segment: Segment
    position: int
    message: Message
    index_entry: IndexEntry | None
    scanned_messages: int
    scanned_bytes: int


class _Cursor:
    """How far a walk through a segment has come, and the bytes that it has read ahead."""

    def __init__(
        self,
        segment: Segment,
        descriptor: int,
        entry: IndexEntry | None,
        next_entry_position: int | None,
    ) -> None:
        self.segment = segment
        self.entry = entry
        self.start, self.next_offset = start_of(segment, entry)
        self.position = self.start
        self.scanned = 0
        self._descriptor = descriptor
        # One read, up to the next entry. After the last entry, the message may begin anywhere in
        # the next interval, and end after it.
        if next_entry_position is not None:
            wanted_bytes = next_entry_position - self.start
        else:
            wanted_bytes = segment.index_interval_bytes + ONE_MESSAGE_BYTES
        self._data = os.pread(descriptor, min(wanted_bytes, SCAN_WINDOW_BYTES), self.start)
        self._data_start = self.start

    def advance_to(self, offset: int, tracer: Tracer) -> Outcome:
        """Walk towards `offset`; return the decoded outcome at the position where it stops."""
        while True:
            at, next_offset = walk(
                self._data,
                self.position - self._data_start,
                self.next_offset,
                offset,
                start=self._data_start,
                tracer=tracer,
            )
            self.scanned += next_offset - self.next_offset
            self.position, self.next_offset = self._data_start + at, next_offset
            outcome = decode(self.segment.dialect, self._data, at)
            if not isinstance(outcome, NeedMoreBytes) or not self._read_on(outcome.needed_bytes):
                return outcome

    def skip(self, message: Message) -> None:
        """Step over the message at the present position."""
        self.scanned += 1
        self.position += message.length_bytes
        self.next_offset = message.offset + 1

    def is_at_a_false_entry(self, outcome: Outcome) -> bool:
        """Tell if the walk began at an index entry, and its message is not there."""
        is_true = isinstance(outcome, Message) and outcome.offset == self.next_offset
        return self.entry is not None and not self.scanned and not is_true

    def _read_on(self, needed_bytes: int) -> bool:
        """Read from the present position on; tell if this gave more bytes than before."""
        known_bytes = self._data_start + len(self._data) - self.position
        wanted_bytes = max(needed_bytes, ONE_MESSAGE_BYTES)
        self._data = os.pread(self._descriptor, wanted_bytes, self.position)
        self._data_start = self.position
        return len(self._data) > known_bytes


def find_in_segment(
    segment: Segment,
    offset: int,
    tracer: Tracer = UNTRACED,
    *,
    following_offset: int | None = None,
    descriptor: int | None = None,
) -> Found | None:
    """Return a segment's first message with an offset not below `offset`; None if it has none.

    `following_offset` is the first offset of the next segment; None for the last segment, where an
    unfinished message is the end. `descriptor` is an open descriptor of the `.log`. With one, the
    index is loaded again only for an offset after its last entry: who keeps one searches often.
    O(log entries + bytes between two entries).

    Raises CorruptLogError for an unfinished message in an earlier segment or with whole messages
    after it, for bytes that are no message, and for a message with a wrong offset. If gaps are
    allowed, see `Segment.is_in_order`. Raises FileNotFoundError if the segment was deleted.
    """
    if descriptor is not None:
        return _find(segment, descriptor, offset, tracer, following_offset)
    descriptor = open_regular(segment.log_path)
    try:
        segment.index.load()
        return _find(segment, descriptor, offset, tracer, following_offset)
    finally:
        os.close(descriptor)


def _find(
    segment: Segment, descriptor: int, offset: int, tracer: Tracer, following_offset: int | None
) -> Found | None:
    entry, end = segment.index.nearest_entry(offset, tracer)
    if end is None and segment.index.load():  # the writer has added entries meanwhile
        entry, end = segment.index.nearest_entry(offset, tracer)
    cursor = _Cursor(segment, descriptor, entry, end)
    outcome = cursor.advance_to(offset, tracer)
    if cursor.is_at_a_false_entry(outcome):
        cursor = _Cursor(segment, descriptor, None, None)
        outcome = cursor.advance_to(offset, tracer)
    while message := _expected(cursor, outcome, following_offset):
        position = cursor.position
        cursor.skip(message)
        if message.offset >= offset:
            scanned_bytes = cursor.position - cursor.start
            return Found(segment, position, message, cursor.entry, cursor.scanned, scanned_bytes)
        outcome = cursor.advance_to(offset, tracer)  # after a gap, or a compressed message
    return None


def _expected(cursor: _Cursor, outcome: Outcome, following_offset: int | None) -> Message | None:
    """Return the message at the cursor; None at the segment's end; else raise the damage."""
    segment, position = cursor.segment, cursor.position
    if isinstance(outcome, NeedMoreBytes):
        if position == segment.file_bytes:
            return None
        is_last = following_offset is None
        # A value may hold copies of earlier messages. So only offsets from the next one on count.
        after = whole_messages(segment.log_path, position + 1, cursor.next_offset)
        if is_last and not any(after):  # a torn tail: recovery decides by the same rule
            return None
        # A writer may have finished it meanwhile.
        finished = message_at(segment.dialect, segment.log_path, position)
        if finished is None:
            raise damage_error(segment, position, "an unfinished message, and others after it")
        outcome = finished
    expected, is_gap = cursor.next_offset, False
    if isinstance(outcome, Message):
        if segment.is_in_order(position, outcome, expected, following_offset):
            return outcome
        is_gap = outcome.offset > expected
    reason = fault(outcome, expected) or ""  # never empty: what is no fault was returned above
    raise damage_error(segment, position, reason, is_gap=is_gap)


def refuse_compressed(found: Found) -> None:
    """Raise CompressedMessageError if the message is a compressed one."""
    if found.message.is_compressed:
        raise CompressedMessageError(
            found.message.codec,
            where=f"{found.segment.log_path}, byte {found.position}",
            remedy="only `kminilog dump --deep` looks inside, and only with gzip",
        )


def misplaced_segment_error(segment: Segment, before: Segment) -> CorruptLogError:
    """Return the error for a segment that does not begin where the one before it ends.

    Reads the end of the one before.
    """
    offset, expected = segment.first_offset, before.end_offset()
    reason = (
        f"its name says offset {offset}, but {expected} comes next, after {before.log_path.name}"
    )
    return damage_error(segment, 0, reason, is_gap=offset > expected)
