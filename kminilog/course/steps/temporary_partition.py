"""The partition of a step-through: written in a temporary directory, shown as files with fields.

    with temporary_log(DOCUMENTED, TopicSettings(segment_bytes=128)) as log:
        log.append(...)
        add_log(recording, "0.log", DOCUMENTED, log.segments()[0].log_path.read_bytes())

The path of the directory is nowhere in a document, so that a document is the same each time.
Source: ours.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from kminilog.explain.document import Field, Table, Value
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.recording import Recording
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import IndexEntry
from kminilog.format.message import KeyValue, Message, scan
from kminilog.format.names import TopicPartition
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.reader import PartitionReader

PARTITION = TopicPartition("orders", 0)
SEGMENT_COLUMNS = ("segment", "first offset", "next offset", "log bytes", "index entries")
_ENTRY_COLUMNS = ("entry", "relative offset", "position", "offset")


@contextmanager
def temporary_log(
    dialect: Dialect, settings: TopicSettings, first_offset: int = 0
) -> Iterator[PartitionLog]:
    """Return an empty partition in a temporary directory; its first message gets `first_offset`."""
    base_offset = dialect.base_offset_for(first_offset)
    with TemporaryDirectory() as directory:
        path = Path(directory)
        yield PartitionLog.open(path, PARTITION, dialect, settings, base_offset=base_offset)


def reader_of(log: PartitionLog) -> PartitionReader:
    """Return a reader that knows of a log only what is in its directory."""
    return PartitionReader(log.directory, log.topic_partition, log.dialect, log.settings)


def without_keys(values: Sequence[bytes]) -> list[KeyValue]:
    """Return messages that have these values, and no keys."""
    return [(None, value) for value in values]


def listed_segments(reader: PartitionReader) -> list[tuple[Value, ...]]:
    """Return a row of SEGMENT_COLUMNS for each segment that a reader lists. O(log)."""
    rows: list[tuple[Value, ...]] = []
    for segment in reader.segments():
        end = segment.end_offset()  # it loads the index
        entries = len(segment.index)
        rows.append((segment.name, segment.first_offset, end, segment.file_bytes, entries))
    return rows


def segments_table(title: str, rows: Sequence[tuple[Value, ...]]) -> Table:
    """Return a table of segments; the last one, which is appended to, is marked."""
    return Table(title, SEGMENT_COLUMNS, tuple(rows), (len(rows) - 1,) if rows else ())


def entries_table(
    title: str, base_offset: int, entries: Sequence[IndexEntry], marked: Sequence[int] = ()
) -> Table:
    """Return a table of index entries, with the offsets that they stand for."""
    rows = [(slot, *one, base_offset + one.relative_offset) for slot, one in enumerate(entries)]
    return Table(title, _ENTRY_COLUMNS, tuple(rows), tuple(marked))


def entry_cell(entry: IndexEntry | None) -> str | None:
    """Return the two numbers of an index entry for a cell of a table; nothing for no entry."""
    return f"{entry.relative_offset}, {entry.position}" if entry else None


def log_fields(
    file: str, dialect: Dialect, data: bytes, starts: Sequence[int] | None = None
) -> list[Field]:
    """Return the fields of a whole `.log`, whose messages begin at `starts`.

    By default a scan says where they begin; what it cannot read is laid out as one message.

    >>> from kminilog.format.dialect import KAFKA
    >>> log_fields("f", KAFKA, bytes(5))
    [Field(file='f', start=0, end=5, name='offset', kind='offset', value=None)]
    """
    if starts is None:
        starts = [position for position, _ in scan(dialect, data)]
    ends = [*starts, len(data)][1:]
    return [
        field
        for start, end in zip(starts, ends, strict=True)
        for field in message_fields(file, dialect, start, data[start:end])
    ]


def message_ends(dialect: Dialect, data: bytes) -> list[int]:
    """Return where each message of a `.log` ends, up to the first fault.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> message_ends(KAFKA, encode(KAFKA, 0, None, b"a") + b"rest")
    [27]
    """
    return [
        position + outcome.length_bytes
        for position, outcome in scan(dialect, data)
        if isinstance(outcome, Message)
    ]


def add_log(
    recording: Recording,
    name: str,
    dialect: Dialect,
    data: bytes,
    *,
    starts: Sequence[int] | None = None,
    is_shown: bool = True,
) -> None:
    """Add the bytes of a `.log` to a recording; `starts` as in `log_fields`."""
    recording.file(name, data, log_fields(name, dialect, data, starts), is_shown=is_shown)


def add_index(recording: Recording, name: str, data: bytes, *, is_shown: bool = True) -> None:
    """Add the bytes of an `.index` to a recording."""
    recording.file(name, data, index_fields(name, data), is_shown=is_shown)
