"""The bytes of a finding, field by field, for the HTML report of `verify`.

They are the first ones; or those around the byte that is wrong, which is marked: the checksum may
tell which it is, or a source that has the record of the message.

They are shown as a step-through shows them. The file is read again at the place of the finding; if
it has changed or gone meanwhile, nothing is shown. Source: ours.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache

from kminilog.errors import KMiniLogError
from kminilog.explain.document import Field, File
from kminilog.explain.field_layout import index_fields, message_fields
from kminilog.explain.page import BytesTable, bytes_table
from kminilog.explain.stretches import read_range
from kminilog.format.flipped_bit import MAX_BYTES
from kminilog.format.index_entry import ENTRY_SIZE_BYTES
from kminilog.format.message import CRC_END, KEY_START, SIZE_END
from kminilog.format.names import INDEX_SUFFIX, TopicPartition, segment_name
from kminilog.storage.log_dir.log_dir import LogDir
from kminilog.storage.segment.damage_scan import wrong_byte_in
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
    name = segment_name(base_offset) + finding.kind.suffix
    path = log_dir.directory(partition) / name
    if finding.kind.suffix == INDEX_SUFFIX:
        data = read_range(path, start, start + _SHOWN_ENTRIES_BYTES)
        fields = [
            field._replace(start=field.start + start, end=field.end + start)
            for field in index_fields(name, data)
        ]
        return [bytes_table(File(name, data, start, start + len(data)), fields)] if data else []
    length_bytes = _length_bytes(read_range(path, start, start + KEY_START))
    if length_bytes > (_LONGEST_BYTES if finding.sides.message else CRC_END + MAX_BYTES):
        length_bytes = _SHOWN_BYTES  # a size that is wrong; or too many to name a byte
    data = read_range(path, start, start + length_bytes)
    dialect = log_dir.topic(partition.topic).dialect
    fields = message_fields(name, dialect, start, data)
    marked = _first_difference(finding, fields)
    if marked is None and (wrong := wrong_byte_in(dialect, data)):
        marked = start + wrong.at
    return [_around(name, start, data, fields, marked)] if data else []


def _first_difference(finding: Finding, fields: Sequence[Field]) -> int | None:
    """Return which byte of the file is the first that differs from the record of the message."""
    differing = finding.sides.first_difference
    if differing is None:
        return None
    starts = (field.start for field in fields if field.kind == differing.field)
    return next((start + differing.at for start in starts), None)


def _around(
    name: str, start: int, data: bytes, fields: Sequence[Field], marked: int | None
) -> BytesTable:
    """Return the first bytes of a message, or those around one that is marked; fields are cut."""
    begin = start
    if marked is not None and marked >= start + _SHOWN_BYTES:
        begin = marked - _SHOWN_BYTES // 4
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
    part = File(name, data[begin - start : end - start], begin, end)
    return bytes_table(part, shown, marked)


def _length_bytes(data: bytes) -> int:
    """Return how long a message is, by its size field; at least as long as a header."""
    size = int.from_bytes(data[SIZE_END - 4 : SIZE_END], signed=True)
    return max(KEY_START, SIZE_END + size)
