"""`step record FILE.index`: one entry of an `.index`, and the message where it leads.

    relative offset + the number in the file's name = offset;  position = byte in the .log

The entry is compared with those before it, and with the message in the `.log` beside it, if there
is one: it is decoded there, as a search does. An empty index is compared with the rule. Source: S1
5.2; Kafka: OffsetIndex.
"""

from pathlib import Path

from kminilog.errors import CorruptBytesError
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.field_layout import index_fields
from kminilog.explain.script import Script
from kminilog.explain.stretches import stretches
from kminilog.format.dialect import DOCUMENTED, Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries, is_due
from kminilog.format.names import INDEX_SUFFIX, parse_segment_file
from kminilog.settings import TopicSettings
from kminilog.storage.files import read_regular, regular_status
from kminilog.storage.segment.log_file import message_at
from kminilog.storage.segment.segment import Segment
from kminilog.storage.topics import Topic
from kminilog.text import count
from kminilog.verification.findings import FindingClass

OK = "ok"
STEPS = (
    *("An empty index", "The file", "The relative offset", "The position"),
    *("A false entry", "Entries in order", "Entries out of order"),
)
_SHOWN_BYTES = 1024


def document(
    path: Path,
    at: int | None = None,
    topic: Topic | None = None,
    dialect: Dialect | None = None,
) -> Document:
    """Return the step-through for the entry that holds byte `at`; by default, the first bad one.

    If all are in order, the first one. The `.log` beside it is read in `dialect`, else as `topic`
    says, else as one of the documented dialect with default settings. Raises ValueError for a byte
    past the end, or a name that is not 20 digits, and OSError.
    """
    parsed = parse_segment_file(path.name)
    if parsed is None:
        wanted = f"{0:020d}{INDEX_SUFFIX}"
        raise ValueError(f"{path}: an index is read by the 20 digits of its name, like {wanted}")
    data = read_regular(path)
    if at is not None and at >= len(data):
        raise ValueError(f"{path} has no byte {at}: it has {count(len(data), 'byte')}")
    settings = topic.settings if topic else TopicSettings()
    base_offset, limit = parsed[0], settings.index_interval_bytes
    dialect = dialect or (topic.dialect if topic else DOCUMENTED)
    segment = Segment(path.parent, base_offset, dialect, limit)
    has_log = segment.log_path.is_file()
    told = Script(__file__, "record", STEPS, file=path.name, base_offset=base_offset)
    if not data:
        messages = (one for one in stretches(segment) if one.message) if has_log else ()
        due = next((one for one in messages if is_due(one.start, 0, limit)), None)
        finding = str(FindingClass.INDEX_SPARSE) if due else OK
        told.tell(
            "An empty index", values={"finding": finding}, has_log=has_log, due=due, limit=limit
        )
        return told.document()

    recording = told.recording
    bad, reason = _first_fault(data)
    start = (bad or 0) if at is None else at
    start -= start % ENTRY_SIZE_BYTES
    end = start + ENTRY_SIZE_BYTES
    first = max(0, start - _SHOWN_BYTES // 2)
    first -= first % ENTRY_SIZE_BYTES
    part = data[first : first + _SHOWN_BYTES]
    fields = [
        field._replace(start=field.start + first, end=field.end + first)
        for field in index_fields(path.name, part)
    ]
    recording.file(path.name, part, fields, start=first, size_bytes=len(data))
    entry_count, rest_bytes = divmod(len(data), ENTRY_SIZE_BYTES)
    entry = recording.in_view(ByteRange(path.name, start, end))
    told.tell(
        "The file",
        focus=entry if start else [],
        values={"base offset": base_offset},
        size_bytes=len(data),
        entry_count=entry_count,
        entry_bytes=ENTRY_SIZE_BYTES,
        rest_bytes=rest_bytes,
    )

    led, kind, found = "", None, None
    slot = data[start:end]
    if len(slot) == ENTRY_SIZE_BYTES:
        relative, position = (int.from_bytes(slot[n : n + 4], signed=True) for n in (0, 4))
        offset = base_offset + relative
        values: dict[str, Value] = {
            "base offset": base_offset,
            "relative offset": relative,
            "offset": offset,
        }
        told.tell(
            "The relative offset",
            focus=recording.in_view(ByteRange(path.name, start, start + 4)),
            values=values,
            start=start,
            relative=relative,
            position=position,
        )
        tables = []
        if has_log and position >= 0:
            led, kind, found = _led(segment, offset, position)
            columns = ("file", "byte", "offset there", "so the entry leads to")
            row = (segment.log_path.name, position, found, led)
            tables = [Table("The log beside it", columns, (row,))]
        told.tell(
            "The position",
            focus=recording.in_view(ByteRange(path.name, start + 4, end)),
            values={**values, "position": position},
            tables=tables,
            start=start + 4,
            position=position,
        )

    if bad is not None:
        told.tell(
            "Entries out of order",
            focus=recording.in_view(ByteRange(path.name, bad, len(data))),
            values={"finding": str(FindingClass.INDEX_ORDER), "start": bad, "end": len(data)},
            kind=FindingClass.INDEX_ORDER,
            reason=reason,
            bad=bad,
        )
    elif kind:
        told.tell(
            "A false entry",
            focus=entry,
            values={"finding": str(kind), "start": start, "end": end},
            kind=kind,
            is_past_end=kind is FindingClass.INDEX_PAST_END,
            found=found,
        )
    else:
        told.tell(
            "Entries in order",
            focus=entry,
            values={"finding": OK, "start": 0, "end": len(data)},
            leads_there=bool(led),
        )
    return told.document()


def _first_fault(data: bytes) -> tuple[int | None, str]:
    """Return the byte from which on an index is not valid, and why; None if all of it is."""
    whole = data[: len(data) - len(data) % ENTRY_SIZE_BYTES]
    for part in (whole, data):
        try:
            decode_entries(part)
        except CorruptBytesError as error:
            return error.position, error.reason
    return None, ""


def _led(
    segment: Segment, offset: int, position: int
) -> tuple[str, FindingClass | None, int | None]:
    """Return what the `.log` has where an entry leads, what is wrong, and the offset there."""
    if position >= regular_status(segment.log_path).st_size:
        return "nothing, it is past the end", FindingClass.INDEX_PAST_END, None
    message = message_at(segment.dialect, segment.log_path, position)
    if message is None:
        return "no beginning of a whole message", FindingClass.INDEX_POSITION, None
    if message.offset != offset:
        return "another message", FindingClass.INDEX_POSITION, message.offset
    return "its message", None, offset
