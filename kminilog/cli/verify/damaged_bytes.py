"""The bytes of a finding, field by field, for the HTML report of `verify`.

They are the first ones; or those that differ, if a source has the record of the message.

They are shown as a step-through shows them. The file is read again at the place of the finding; if
it has changed or gone meanwhile, nothing is shown. Source: ours.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from kminilog.errors import KMiniLogError
from kminilog.explain.document import File
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.page import BytesTable, bytes_table
from kminilog.explain.stretches import read_range
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import KEY_START, SIZE_END
from kminilog.format.names import INDEX_SUFFIX, TopicPartition, segment_name
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.verification.findings import Finding

_SHOWN_BYTES = 64
_LONGEST_BYTES = 1 << 24
_SHOWN_ENTRIES_BYTES = 2 * ENTRY_SIZE_BYTES


def damaged_bytes(log_dir: LogDir) -> Callable[[Finding], list[BytesTable]]:
    """Return what gives the bytes of a finding; none of one without a known byte. O(1)."""

    @cache
    def tables(finding: Finding) -> list[BytesTable]:
        if finding.position is None or finding.segment is None:
            return []
        with suppress(OSError, KMiniLogError):
            return _tables(log_dir, finding, int(finding.segment), finding.position)
        return []

    return tables


def _tables(log_dir: LogDir, finding: Finding, base_offset: int, start: int) -> list[BytesTable]:
    partition = TopicPartition(finding.topic, finding.partition)
    of_index = finding.kind.suffix == INDEX_SUFFIX
    name = segment_name(base_offset) + finding.kind.suffix
    size_bytes = _SHOWN_ENTRIES_BYTES if of_index else _SHOWN_BYTES
    path = log_dir.directory(partition) / name
    if differs := _first_difference(finding):
        return _around(log_dir, partition, path, start, *differs)
    data = read_range(path, start, start + size_bytes)
    if not data:
        return []
    if of_index:
        fields = [
            field._replace(start=field.start + start, end=field.end + start)
            for field in index_fields(name, data)
        ]
    else:
        data = data[: _length_bytes(data)]  # what follows belongs to the next message
        fields = message_fields(name, log_dir.topic(partition.topic).dialect, start, data)
    return [bytes_table(File(name, data, start, start + len(data)), fields)]


def _first_difference(finding: Finding) -> tuple[str, int] | None:
    """Return in which part of its message a finding differs from its record, and at which byte."""
    message = finding.sides.message
    for part in ("key", "value") if message else ():
        differs = getattr(message, part).differs
        if differs:
            return part, differs[0]
    return None


def _around(
    log_dir: LogDir, partition: TopicPartition, path: Path, start: int, part: str, at: int
) -> list[BytesTable]:
    """Return the bytes around a difference in a message; its fields are cut there."""
    header = read_range(path, start, start + KEY_START)
    data = read_range(path, start, start + min(_length_bytes(header), _LONGEST_BYTES))
    fields = message_fields(path.name, log_dir.topic(partition.topic).dialect, start, data)
    first = next((field.start for field in fields if field.kind == part), start)
    begin = max(first + at - _SHOWN_BYTES // 4, start)
    end = min(begin + _SHOWN_BYTES, start + len(data))
    shown = []
    for field in fields:
        low, high = max(field.start, begin), min(field.end, end)
        if low < high:
            value = field.value
            if (low, high) != (field.start, field.end):
                text = data[low - start : high - start].decode(errors="backslashreplace")
                value = text if field.kind in ("key", "value") else None  # no number of a part
            shown.append(field._replace(start=low, end=high, value=value))
    return [bytes_table(File(path.name, data[begin - start : end - start], begin, end), shown)]


def _length_bytes(data: bytes) -> int:
    """Return how long a message is, by its size field; at least as long as a header."""
    size = int.from_bytes(data[SIZE_END - 4 : SIZE_END], signed=True)
    return max(KEY_START, SIZE_END + size)
