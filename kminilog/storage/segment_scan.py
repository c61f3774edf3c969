"""Find how far a segment is valid: read its messages up to the first fault.

Recovery cuts a log there, a writer continues there, and `check` asserts that there is no fault.
These functions read one segment, know no other segments, and change nothing.
Source: Kafka: LogSegment.recover.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kminilog.format.index_entry import IndexEntry, due_entries
from kminilog.format.message import CorruptMessage, Message, NeedMoreBytes, Outcome, is_next_message
from kminilog.storage.log_file import whole_messages
from kminilog.storage.segment import Segment, damage_error


class SegmentScan(NamedTuple):
    """How far a segment is valid: up to byte `valid_bytes`, where `next_offset` is expected.

    `entries` are the due index entries of the valid messages. `fault` says what stands at
    `valid_bytes` instead of the next message; None at the end of the file.
    """

    next_offset: int
    valid_bytes: int
    entries: list[IndexEntry]
    fault: str | None


def scan_segment(segment: Segment, start: IndexEntry | None = None) -> SegmentScan:
    """Read every message up to the first fault, and return what was found; O(file).

    The first message must have the offset that the name gives, and each other the next one. With
    `start`, an index entry that the caller has checked, it begins there.
    """
    segment.index.load()
    valid = _ValidMessages(segment, start)
    interval_bytes = segment.index_interval_bytes
    entries = list(due_entries(valid, segment.base_offset, interval_bytes, valid.valid_bytes))
    return SegmentScan(valid.next_offset, valid.valid_bytes, entries, valid.fault)


class _ValidMessages:
    """Yields offset and position of each valid message, and knows how far it has come."""

    def __init__(self, segment: Segment, start: IndexEntry | None) -> None:
        self._segment = segment
        self.next_offset, self.valid_bytes = segment.first_offset, 0
        if start:
            self.next_offset = segment.base_offset + start.relative_offset
            self.valid_bytes = start.position
        self.fault: str | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for position, outcome in self._segment.scan(self.valid_bytes):
            self.fault = fault(outcome, self.next_offset)
            if self.fault or not isinstance(outcome, Message):
                return
            self.next_offset = outcome.offset + 1
            self.valid_bytes = position + outcome.length_bytes
            yield outcome.offset, position


def fault(outcome: Outcome, next_offset: int) -> str | None:
    """Return why an outcome of decoding is not the message that belongs at `next_offset`.

    None if it is this message, or a compressed one that may hold it.

    >>> plain = Message(7, 0, 0, 0, 0, None, b"")
    >>> fault(plain, 7), fault(NeedMoreBytes(28), 7)
    (None, 'unfinished message')
    >>> fault(plain, 6)
    'a whole message with offset 7, expected 6'
    """
    if isinstance(outcome, NeedMoreBytes):
        return "unfinished message"
    if isinstance(outcome, CorruptMessage):
        return f"{outcome.fault}, {outcome.detail}"
    if not is_next_message(outcome, next_offset):
        return f"a whole message with offset {outcome.offset}, expected {next_offset}"
    return None


def has_due_entries(segment: Segment, scan: SegmentScan) -> bool:
    """Tell if the index of a segment has exactly the entries that are due."""
    return segment.index.holds_exactly(scan.entries)


def valid_end(segment: Segment) -> int | None:
    """Return one past the last offset, from the index and the messages after its last entry.

    None if the index is invalid or those messages are not valid. A quick check, for a segment that
    was on the disk before: O(entries + bytes between two entries).
    """
    entry = segment.last_true_entry()
    index = segment.index
    if not index.holds_exactly(index.entries()) or (len(index) and not entry):
        return None
    scan = scan_segment(segment, entry)
    return None if scan.fault or scan.entries else scan.next_offset


class WholeMessages(NamedTuple):
    """The whole messages after damage: their number, and one past their greatest offset."""

    message_count: int
    next_offset: int


def count_whole_messages(segment: Segment, position: int = 0) -> WholeMessages:
    """Return the number of whole messages at or after a position; skip damage between them.

    They may have any format (`whole_messages`). O(bytes). `next_offset` ignores an offset that a
    segment of this length cannot reach without gaps and compressed messages: there it is damage
    itself. It is 0 if no other message is there.
    """
    limit = segment.first_offset + segment.file_bytes
    message_count = next_offset = 0
    for _, message in whole_messages(segment.log_path, position):
        message_count += 1
        if next_offset <= message.offset < limit:
            next_offset = message.offset + 1
    return WholeMessages(message_count, next_offset)


def next_offset(segment: Segment) -> int:
    """Return the offset that a writer gives to the next message of a segment.

    Reads from the last index entry on. Raises CorruptLogError for a fault there.
    """
    scan = scan_segment(segment, segment.last_true_entry())
    if scan.fault:
        raise damage_error(segment, scan.valid_bytes, scan.fault)
    return scan.next_offset


class SegmentScanner(NamedTuple):
    """The two functions that read whole segments: the plain ones, or faster equivalents."""

    scan_segment: Callable[[Segment], SegmentScan]
    count_whole_messages: Callable[[Segment, int], WholeMessages]


PLAIN = SegmentScanner(scan_segment, count_whole_messages)


def check_segment(segment: Segment) -> SegmentScan:
    """Assert a writer's invariants: whole messages in order, exactly the due entries. O(file)."""
    scan = scan_segment(segment)
    assert scan.fault is None, f"{segment.name} at {scan.valid_bytes}: {scan.fault}"
    assert segment.index.holds_exactly(scan.entries), f"{segment.name}: index entries"
    return scan
