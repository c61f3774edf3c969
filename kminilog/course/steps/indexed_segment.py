"""A segment whose messages have chosen sizes, and what the index rule said of each of them.

    position   0        248      497     600     700     1407     1500     1686      interval 248
    message    368770   368771   368772  368773  368774  368775   368776   368777
    entry                        3, 497                  6, 1407           8, 1686   documented

The sizes of the first messages are such that the entries of the documents' figure come out. They
are the same in both dialects, and so are all positions. `demo --documents` writes the same segment
in its full size. Source: S1 5.2.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kminilog.course.steps.temporary_partition import reader_of, temporary_log
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry, is_due
from kminilog.format.message import encoded_bytes
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.offset_index import OffsetIndex

FIRST_OFFSET = 368_770


class Placed(NamedTuple):
    """One message: where it begins, the last entry before it, and whether it is due and has one."""

    offset: int
    position: int
    last_indexed: int
    is_due: bool
    entry: IndexEntry | None
    entry_count: int

    @property
    def distance_bytes(self) -> int:
        """How far it begins after the last entry."""
        return self.position - self.last_indexed


class Written(NamedTuple):
    """A segment that was written: its messages in order, and the bytes of its files."""

    name: str
    base_offset: int
    placed: list[Placed]
    log_data: bytes
    index_data: bytes
    entries: list[IndexEntry]


def write_segment(dialect: Dialect, interval_bytes: int, sizes: Sequence[int]) -> Written:
    """Write a segment of messages of these sizes, and read its index from the file."""
    settings = TopicSettings(index_interval_bytes=interval_bytes)
    with temporary_log(dialect, settings, FIRST_OFFSET) as log:
        placed = list(_appends(log, sizes))
        (segment,) = reader_of(log).segments()
        index = OffsetIndex(log.directory, segment.base_offset)
        index.load()
        return Written(
            segment.name,
            segment.base_offset,
            placed,
            segment.log_path.read_bytes(),
            index.path.read_bytes(),
            index.entries(),
        )


def _appends(log: PartitionLog, sizes: Sequence[int]) -> Iterator[Placed]:
    (segment,) = log.segments()
    for size_bytes in sizes:
        value_bytes = size_bytes - encoded_bytes(log.dialect, None, b"")
        offset, position = log.log_end_offset, segment.size_bytes
        last_indexed, entry_count = segment.index.last_position, len(segment.index)
        due = is_due(position, last_indexed, segment.index_interval_bytes)
        log.append([(None, (b"order %d " % offset).ljust(value_bytes, b".")[:value_bytes])])
        entries = segment.index.entries(entry_count)
        entry = entries[0] if entries else None
        yield Placed(offset, position, last_indexed, due, entry, len(segment.index))
