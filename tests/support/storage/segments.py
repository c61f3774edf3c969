"""A segment of ten messages that are equally long, so that a test can say where each stands."""

from pathlib import Path

from kminilog.format.dialect import Dialect
from kminilog.format.message import encode
from kminilog.storage.segment.segment import Segment

BASE = 5  # the number in the name; the first message has offset 6 in the documented dialect
COUNT = 10


def message(dialect: Dialect, offset: int) -> bytes:
    """Return the bytes of a message of the one length that all of them have."""
    return encode(dialect, offset, b"k", b"value %04d" % (offset % 10_000))


def length_of(dialect: Dialect) -> int:
    """Return how many bytes each message has."""
    return len(message(dialect, 0))


def segment_in(
    directory: Path, dialect: Dialect, base_offset: int = BASE, *, allows_gaps: bool = False
) -> Segment:
    """Return the segment as somebody sees it who has read nothing of it yet."""
    interval_bytes = 3 * length_of(dialect) - 1  # each third message gets an entry
    return Segment(directory, base_offset, dialect, interval_bytes, allows_gaps=allows_gaps)


def write_segment(
    directory: Path, dialect: Dialect, count: int = COUNT, base_offset: int = BASE
) -> Segment:
    """Write the files; the messages with the numbers 3, 6 and 9, counted from 0, have entries."""
    directory.mkdir(exist_ok=True)
    writer = segment_in(directory, dialect, base_offset)
    writer.open()
    for offset in range(writer.first_offset, writer.first_offset + count):
        writer.add(offset, message(dialect, offset))
    writer.write()
    return segment_in(directory, dialect, base_offset)
