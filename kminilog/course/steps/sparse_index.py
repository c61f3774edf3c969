"""`step sparse-index`: which messages get an index entry, and what stands in it.

    position   0        248      497     600     700     1407     1500     1686      interval 248
    message    368770   368771   368772  368773  368774  368775   368776   368777
    after      0        248      497     103     203     910      93       279       the last entry
    entry                        3, 497                  6, 1407           8, 1686   documented

The sizes of the first messages are such that the entries of the documents' figure come out, 3,497
and 6,1407 and 8,1686. They are the same in both dialects, and so are all positions. A real log is
written; `is_due` says of each message why it gets an entry or not, and the real index says if it
got one. `demo --documents` writes the same segment in its full size. Source: S1 5.2; Kafka:
LogSegment.append, OffsetIndex.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kminilog.course.steps.temporary_partition import (
    PARTITION,
    add_index,
    add_log,
    entries_table,
    entry_cell,
    reader_of,
    temporary_log,
)
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.documents_log import INTERVAL_BYTES, message_sizes
from kminilog.explain.script import Script
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, IndexEntry, due_entries, is_due
from kminilog.format.message import SIZE_END, encoded_bytes
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.segment.offset_index import OffsetIndex

FIRST_OFFSET = 368_770
MESSAGE_COUNT = 14
MOST_MESSAGES = 100  # with more, a document has too many fields
STEPS = (
    *("The index of a segment", "A message is appended", "The first entry in both dialects"),
    "The index, read from its file",
)
_SHOWN_ROWS = 20


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


def document(
    dialect: Dialect = DOCUMENTED,
    interval_bytes: int = INTERVAL_BYTES,
    message_count: int = MESSAGE_COUNT,
) -> Document:
    """Return the step-through; its last table has the entries that `OffsetIndex` reads.

    Raises SettingError for an impossible interval, ValueError for no messages or too many.
    """
    if not 1 <= message_count <= MOST_MESSAGES:
        raise ValueError(f"{message_count} messages: give 1 to {MOST_MESSAGES}")
    sizes = message_sizes(message_count)
    written = write_segment(dialect, interval_bytes, sizes)
    other_dialect = KAFKA if dialect.named_by_previous else DOCUMENTED
    told = Script(
        __file__,
        "sparse-index",
        STEPS,
        interval_bytes=interval_bytes,
        segment=written.name,
        base_offset=written.base_offset,
        other_dialect=other_dialect.name,
        other_base_offset=other_dialect.base_offset_for(FIRST_OFFSET),
        message_count=message_count,
        entry_count=len(written.entries),
        log_bytes=len(written.log_data),
        index_bytes=len(written.index_data),
    )
    recording = told.recording
    log_file, index_file = written.name + LOG_SUFFIX, written.name + INDEX_SUFFIX
    add_log(recording, log_file, dialect, written.log_data, is_shown=False)
    add_index(recording, index_file, written.index_data, is_shown=False)
    recording.show(log_file, 0)
    recording.show(index_file, 0)
    told.tell(
        "The index of a segment",
        values={"index.interval.bytes": interval_bytes, "partition": str(PARTITION)},
    )
    rows: list[tuple[Value, ...]] = []
    columns: tuple[str, ...] = ("offset", "position", "after the last entry", "entry")
    ends = [*(one.position for one in written.placed[1:]), len(written.log_data)]
    for one, end in zip(written.placed, ends, strict=True):
        entry_end = one.entry_count * ENTRY_SIZE_BYTES
        recording.show(log_file, end)
        recording.show(index_file, entry_end)
        focus = [ByteRange(log_file, one.position, one.position + SIZE_END)]
        if one.entry:
            focus.append(ByteRange(index_file, entry_end - ENTRY_SIZE_BYTES, entry_end))
        rows.append((one.offset, one.position, one.distance_bytes, entry_cell(one.entry)))
        rows = rows[-_SHOWN_ROWS:]
        told.tell(
            "A message is appended",
            focus=focus,
            values={
                "position": one.position,
                "position of the last entry": one.last_indexed,
                "difference": one.distance_bytes,
                "gets an entry": "yes" if one.is_due else "no",
            },
            tables=[Table("Messages", columns, tuple(rows), (len(rows) - 1,))],
            message=one,
            end=end,
        )
    rows = []
    for named in DIALECTS.values():
        name, base_offset, *_, entries = write_segment(named, interval_bytes, sizes)
        if entries:
            relative, position = entries[0]
            rows.append((named.name, name, base_offset + relative, relative, position))
    columns = ("dialect", "file name", "offset", "relative offset", "position")
    if rows:
        told.tell(
            "The first entry in both dialects",
            tables=[Table("The first entry", columns, tuple(rows))],
        )
    positions = [(one.offset, one.position) for one in written.placed]
    by_rule = list(due_entries(positions, written.base_offset, interval_bytes))
    title = "The index, read from its file"
    told.tell(
        "The index, read from its file",
        values={
            "messages": message_count,
            "log bytes": len(written.log_data),
            "index bytes": len(written.index_data),
            "entries by the rule": len(by_rule),
        },
        tables=[entries_table(title, written.base_offset, written.entries)],
        is_by_rule=by_rule == written.entries,
    )
    return told.document()


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
