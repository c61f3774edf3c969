"""`step append-roll`: messages are appended one by one, and a new segment begins when one is full.

    00000000000000000000.log   [m0 m1 m2 m3  ]   m4 does not fit, so it begins a new segment
    00000000000000000003.log   [m4 m5 …       ]   documented: named after m3, the last one before
    00000000000000000004.log                      kafka: named after m4, its own first one

`PartitionLog.append` writes real files; if it has rolled, the log has one more segment. Then both
dialects stand side by side: every name comes from `Dialect.base_offset_for`, or from real files.
At the end retention deletes the oldest segments, if it is given a size.
Source: S1 5.1 and 5.2; Kafka: Log.maybeRoll, Log.roll, Log.deleteOldSegments.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kminilog.course.steps.temporary_partition import (
    SEGMENT_COLUMNS,
    add_index,
    add_log,
    listed_segments,
    reader_of,
    segments_table,
    temporary_log,
    without_keys,
)
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.script import Script
from kminilog.format.dialect import DIALECTS, DOCUMENTED, KAFKA, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import encoded_bytes
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, segment_name
from kminilog.settings import TopicSettings
from kminilog.storage.partition.log import PartitionLog
from kminilog.storage.partition.retention import delete_expired, unlink_marked

MESSAGES = (
    *(b"one apple", b"two pears", b"three plums", b"four dates", b"five lemons"),
    *(b"six limes", b"seven figs", b"eight nuts", b"nine grapes", b"ten cherries"),
)
SEGMENT_BYTES = 128
INTERVAL_BYTES = 50
STEPS = (
    *("An empty partition", "The active segment", "A message does not fit", "A new segment"),
    *("The two rules for names", "One message fills a segment", "A reader lists the log"),
    *("What retention deletes", "The files get another name", "The files are gone"),
)
SegmentRow = tuple[str, int, int, int, int]
_SHOWN_SEGMENTS = 4
_SHOWN_ROLLS = 8
_DOCUMENTS_OFFSET = 368_770  # the first message of S1's second segment


class _Retained(NamedTuple):
    """What retention did: the segments before and after, and the directory after each deletion."""

    before: list[SegmentRow]
    after: list[SegmentRow]
    renamed: list[str]
    unlinked: list[str]


def document(
    dialect: Dialect = DOCUMENTED,
    messages: Sequence[bytes] = MESSAGES,
    segment_bytes: int = SEGMENT_BYTES,
    retention_bytes: int | None = None,
) -> Document:
    """Return the step-through; its last table has the segments that a reader lists.

    With `retention_bytes`, retention by size follows, and its last table has what stays. Raises
    MessageTooLargeError for a message that no segment can hold, SettingError for an impossible
    `segment_bytes`, ValueError for more bytes than can be shown.
    """
    settings = TopicSettings(
        segment_bytes=segment_bytes,
        index_interval_bytes=INTERVAL_BYTES,
        retention_bytes=-1 if retention_bytes is None else retention_bytes,
    )
    told = Script(
        __file__,
        "append-roll",
        STEPS,
        dialect=dialect,
        other_dialect=KAFKA if dialect.named_by_previous else DOCUMENTED,
        segment_bytes=segment_bytes,
        interval_bytes=INTERVAL_BYTES,
    )
    recording = told.recording
    with temporary_log(dialect, settings) as log:
        appended = []
        for message in without_keys(messages):
            before = _last_segments(log)
            (offset,) = log.append([message])
            appended.append((offset, before, _last_segments(log)))
        for segment in log.segments():
            data = segment.log_path.read_bytes()
            add_log(recording, segment.name + LOG_SUFFIX, dialect, data, is_shown=False)
            data = segment.index.path.read_bytes()
            add_index(recording, segment.name + INDEX_SUFFIX, data, is_shown=False)
        reader = reader_of(log)
        listing, log_end_offset = listed_segments(reader), reader.log_end_offset
        retained = None if retention_bytes is None else _retain(log)

    first = segment_name(0)
    recording.show(first + LOG_SUFFIX, 0)
    recording.show(first + INDEX_SUFFIX, 0)
    told.tell(
        "An empty partition",
        values={"segment.bytes": segment_bytes, "next offset": 0},
        tables=[segments_table("Segments", [(first, 0, 0, 0, 0)])],
    )
    rolls: list[int] = []  # the first offsets of the new segments
    exact_fits = 0  # counted as rolls are, because each question is asked once or twice only
    for offset, before, after in appended:
        old_name, old_first_offset, _, old_bytes, entries_before = before[-1]
        name, *_, log_bytes, entries = after[-1]
        has_rolled = name != old_name
        position = 0 if has_rolled else old_bytes
        told.facts |= {
            "offset": offset,
            "message_bytes": log_bytes - position,
            "position": position,
            "name": name,
            "old_name": old_name,
            "old_first_offset": old_first_offset,
            "old_bytes": old_bytes,
            "needed_bytes": old_bytes + log_bytes - position,
        }
        if has_rolled:
            rolls.append(offset)
            entries_before = 0
            told.tell(
                "A message does not fit",
                asks=len(rolls) == 1,
                values=_values(segment_bytes, old_bytes, offset),
                tables=[segments_table("Segments", after[:-1])],
            )
        elif log_bytes == segment_bytes:
            exact_fits += 1
        log_file, index_file = name + LOG_SUFFIX, name + INDEX_SUFFIX
        focus = [ByteRange(log_file, position, log_bytes)]
        index_bytes = entries * ENTRY_SIZE_BYTES
        if entries > entries_before:
            focus.append(ByteRange(index_file, index_bytes - ENTRY_SIZE_BYTES, index_bytes))
        recording.show(log_file, log_bytes)
        recording.show(index_file, index_bytes)
        if has_rolled and len(before) == _SHOWN_SEGMENTS:
            recording.hide(before[0][0] + LOG_SUFFIX, before[0][0] + INDEX_SUFFIX)
        told.tell(
            "A new segment" if has_rolled else "The active segment",
            asks=len(rolls) <= 2 if has_rolled else exact_fits == 1,
            focus=focus,
            values=_values(segment_bytes, log_bytes, offset + 1),
            tables=[segments_table("Segments", after)],
            slot=entries - 1 if entries > entries_before else None,
        )
    both = DIALECTS.values()
    names: list[tuple[Value, ...]] = [
        (start - 1, start, *(segment_name(one.base_offset_for(start)) for one in both))
        for start in [*rolls[-_SHOWN_ROLLS:], _DOCUMENTS_OFFSET]
    ]
    columns = ("last offset before", "first offset", *(one.name for one in both))
    told.tell(
        "The two rules for names",
        tables=[Table("Names of segments", columns, tuple(names), (len(names) - 1,))],
    )
    rows = [(one.name, *row) for one in both for row in _segments_that_one_message_fills(one)]
    told.tell(
        "One message fills a segment",
        tables=[
            Table("One message fills a segment", ("dialect", *SEGMENT_COLUMNS), tuple(rows), (0,))
        ],
    )
    for segment_row in listing:
        recording.show(f"{segment_row[0]}{LOG_SUFFIX}")
        recording.show(f"{segment_row[0]}{INDEX_SUFFIX}")
    told.tell(
        "A reader lists the log",
        values={"dialect": dialect.name, "log end offset": log_end_offset},
        tables=[segments_table("What a reader lists", listing)],
        segment_count=len(listing),
        log_end_offset=log_end_offset,
    )
    if retained:
        _tell_retention(told, retained, settings, log_end_offset)
    return told.document()


def _retain(log: PartitionLog) -> _Retained:
    """Let retention delete segments, and then their files."""
    before = _last_segments(log, len(log.segments()))
    delete_expired(log, now_ms=0)
    renamed = sorted(path.name for path in log.directory.glob("*.*"))
    unlink_marked(log.directory, log.settings, now_ms=log.settings.file_delete_delay_ms)
    unlinked = sorted(path.name for path in log.directory.glob("*.*"))
    return _Retained(before, _last_segments(log, len(log.segments())), renamed, unlinked)


def _tell_retention(
    told: Script, retained: _Retained, settings: TopicSettings, log_end_offset: int
) -> None:
    total = sum(row[3] for row in retained.before)
    deleted = [row for row in retained.before if row not in retained.after]
    rows: list[tuple[Value, ...]] = []
    rest = total
    for row in retained.before:
        rest -= row[3]
        rows.append((row[0], row[1], row[3], rest, "goes" if row in deleted else "stays"))
    columns = ("segment", "first offset", "log bytes", "bytes of those after it", "retention")
    values: dict[str, Value] = {
        "retention.bytes": settings.retention_bytes,
        "log bytes": total,
        "log start offset": 0,
    }
    told.facts |= {
        "retention_bytes": settings.retention_bytes,
        "total_bytes": total,
        "rest_bytes": total - sum(row[3] for row in deleted),
        "segments": len(retained.before),
        "deleted": len(deleted),
        "log_start_offset": retained.after[0][1],
        "first_name": retained.after[0][0],
        "delay_s": settings.file_delete_delay_ms // 1_000,
        "log_end_offset": log_end_offset,
    }
    told.tell(
        "What retention deletes",
        values=values,
        tables=[Table("What retention decides", columns, tuple(rows), tuple(range(len(deleted))))],
    )
    if not deleted:
        return
    for row in deleted:
        told.recording.hide(f"{row[0]}{LOG_SUFFIX}", f"{row[0]}{INDEX_SUFFIX}")
    rest_bytes = sum(row[3] for row in retained.after)
    values = values | {"log bytes": rest_bytes, "log start offset": retained.after[0][1]}
    left = segments_table("What a reader lists", retained.after)
    for step, names in (
        ("The files get another name", retained.renamed),
        ("The files are gone", retained.unlinked),
    ):
        files = Table("Files in the directory", ("file",), tuple((name,) for name in names))
        told.tell(step, values=values, tables=[files, left])


def _last_segments(log: PartitionLog, count: int = _SHOWN_SEGMENTS) -> list[SegmentRow]:
    """Return a row of SEGMENT_COLUMNS for each of the last segments, as the writer knows them."""
    segments = log.segments()[-count:]
    ends = [*(segment.first_offset for segment in segments[1:]), log.log_end_offset]
    return [
        (segment.name, segment.first_offset, end, segment.size_bytes, len(segment.index))
        for segment, end in zip(segments, ends, strict=True)
    ]


def _segments_that_one_message_fills(dialect: Dialect) -> list[tuple[Value, ...]]:
    """Return the segments of a log whose three messages are as large as segment.bytes."""
    size_bytes = encoded_bytes(dialect, None, b"one")
    with temporary_log(dialect, TopicSettings(segment_bytes=size_bytes)) as log:
        log.append(without_keys([b"one", b"two", b"six"]))
        return listed_segments(reader_of(log))


def _values(segment_bytes: int, log_bytes: int, next_offset: int) -> dict[str, Value]:
    return {"segment.bytes": segment_bytes, "log bytes": log_bytes, "next offset": next_offset}
