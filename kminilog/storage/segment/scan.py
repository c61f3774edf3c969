"""Find how far a segment is valid: read its messages up to the first fault.

These functions read one segment, know no other segments, and change nothing. Four functions tell
where a segment ends, each for somebody else:

    Segment.end_offset    for a reader: a fault is the end
    next_offset           for the writer: a fault is an error
    quick_end             for recovery, of a segment that was flushed before: it reads only the end
    scan_segment          for recovery, of any other segment: it reads all

Recovery gets two functions as an argument, a `SegmentScanner`: `scan_segment`, and
`count_whole_messages` of the door `whole_messages`. Twins with numpy may take their place. Those
without are called *plain*.
Source: Kafka: LogSegment.recover.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kminilog.format.index_entry import IndexEntry, due_entries
from kminilog.format.message import (
    CorruptMessage,
    Message,
    NeedMoreBytes,
    Outcome,
    is_next_message,
)
from kminilog.storage.segment.segment import Segment, damage_error, start_of
from kminilog.storage.segment.whole_messages import WholeMessages, count_whole_messages


class SegmentScan(NamedTuple):
    """How far a segment is valid: up to byte `valid_bytes`, where `next_offset` is expected.

    `entries` are the due index entries of the valid messages. `reason` says what stands at
    `valid_bytes` instead of the next message; None at the end of the file.
    """

    next_offset: int
    valid_bytes: int
    entries: list[IndexEntry]
    reason: str | None


def scan_segment(segment: Segment, start: IndexEntry | None = None) -> SegmentScan:
    """Read every message up to the first fault, and return what was found; O(file).

    The first message must have the offset that the name gives, and each other the next one: a gap
    is a fault, also where a reader allows it. With `start`, an index entry that the caller has
    checked, it begins there.
    """
    valid = _ValidMessages(segment, start)
    last_indexed_position = start.position if start else 0
    entries = due_entries(
        valid, segment.base_offset, segment.index_interval_bytes, last_indexed_position
    )
    due = list(entries)  # reads the segment: `due_entries` takes one message after the other
    return SegmentScan(valid.next_offset, valid.valid_bytes, due, valid.reason)


class _ValidMessages:
    """Yields offset and position of each valid message; its fields say how far it has come.

    Not a list: a segment may have millions of messages, and few of them get an entry.
    """

    def __init__(self, segment: Segment, start: IndexEntry | None) -> None:
        self.segment = segment
        self.valid_bytes, self.next_offset = start_of(segment, start)
        self.reason: str | None = None

    def __iter__(self) -> Iterator[tuple[int, int]]:
        for position, outcome in self.segment.scan(self.valid_bytes):
            self.reason = fault(outcome, self.next_offset)
            if self.reason or not isinstance(outcome, Message):  # the latter implies a reason
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


def quick_end(segment: Segment) -> int | None:
    """Return one past the last offset, from the index and the messages after its last entry.

    None if the index is invalid or those messages are not valid. A quick check, for a segment that
    was flushed before: O(entries + bytes between two entries).
    """
    entry = segment.last_true_entry()
    if not segment.index.is_intact() or (segment.index.last_entry and not entry):
        return None
    scan = scan_segment(segment, entry)
    is_entry_missing = bool(scan.entries)  # one is due after the last entry of the index
    return None if scan.reason or is_entry_missing else scan.next_offset


def next_offset(segment: Segment) -> int:
    """Return the offset that a writer gives to the next message of a segment.

    Reads from the last index entry on. Raises CorruptLogError for a fault there.
    """
    scan = scan_segment(segment, segment.last_true_entry())
    if scan.reason:
        raise damage_error(segment, scan.valid_bytes, scan.reason)
    return scan.next_offset


class SegmentScanner(NamedTuple):
    """The two functions that read whole segments: the plain ones, or their faster twins."""

    scan_segment: Callable[[Segment], SegmentScan]
    count_whole_messages: Callable[[Segment, int], WholeMessages]


PLAIN = SegmentScanner(scan_segment, count_whole_messages)
