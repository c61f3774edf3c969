"""An index that a Kafka broker may have written: recovery keeps it if all its entries are right.

    kminilog     an entry for each message that is due (`index_entry.is_due`), with its own offset
    a broker     an entry for each appended set that is due, with the first offset in it

A log does not show where an appended set ended. So nobody can tell which entries a broker owes, but
only if those that are there are right. A compressed message is one such set: it holds all offsets
after the message before it, up to its own. Source: Kafka 0.8.2: LogSegment.append, OffsetIndex.
"""

from bisect import bisect_left
from operator import attrgetter

from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import Message
from kminilog.storage.segment.scan import SegmentScan, has_due_entries
from kminilog.storage.segment.segment import Segment, start_of


def is_valid_index(segment: Segment, scan: SegmentScan) -> bool:
    """Tell if an index has exactly the due entries, or may be the work of a Kafka broker.

    In the kafka dialect any index will do whose entries all point to their messages. The exception
    is a prefix of the due entries: kminilog wrote that index, and a crash lost its end. `scan` is
    the scan of the segment. O(entries), each with the bytes between two.
    """
    index, due = segment.index, scan.entries
    if has_due_entries(segment, scan):
        return True
    index.load()
    present = index.entries()
    return (
        segment.dialect.is_kafkas
        and present != due[: len(present)]
        and index.is_intact()
        and all(entry.position < scan.valid_bytes for entry in present)
        and all(_is_right(segment, entry, due) for entry in present)
    )


def _is_right(segment: Segment, entry: IndexEntry, due: list[IndexEntry]) -> bool:
    """Tell if a message begins where an entry points, and has its offset, or holds it inside.

    Reads from the due entry before it on: those are right, because a scan has found them.
    """
    slot = bisect_left(due, entry.position, key=attrgetter("position")) - 1
    position, next_offset = start_of(segment, due[slot] if slot >= 0 else None)
    for at, outcome in segment.scan(position, segment.index_interval_bytes):
        if at > entry.position or not isinstance(outcome, Message):
            return False
        if at == entry.position:
            return next_offset <= segment.base_offset + entry.relative_offset <= outcome.offset
        next_offset = outcome.offset + 1
    return False
