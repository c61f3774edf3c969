"""`step record FILE.index`: one entry of an `.index`, and the message where it leads.

    relative offset + the number in the file's name = offset;  position = byte in the .log

The entry is compared with those before it, and with the message in the `.log` beside it, if there
is one: it is decoded there, as a search does. An empty index is compared with the rule. Source: S1
5.2; Kafka: OffsetIndex.
"""

from pathlib import Path
from typing import NamedTuple

from kminilog.errors import CorruptBytesError
from kminilog.explain.document import ByteRange, Document, Table, Value
from kminilog.explain.field_layout import index_fields
from kminilog.explain.recording import Recording, ask, question_with_enough_choices
from kminilog.explain.stretches import stretches
from kminilog.format.dialect import DOCUMENTED
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
_SHOWN_BYTES = 1024


class _Led(NamedTuple):
    """Where an entry leads: the offset of the message there, if there is one, and what is wrong."""

    log: str
    offset: int | None
    told: str
    kind: FindingClass | None


def document(path: Path, at: int | None = None, topic: Topic | None = None) -> Document:
    """Return the step-through for the entry that holds byte `at`; by default, the first bad one.

    If all are in order, the first one. The `.log` beside it is read as `topic` says, else as one
    of the documented dialect with default settings. Raises ValueError for a byte past the end, or a
    name that is not 20 digits, and OSError.
    """
    parsed = parse_segment_file(path.name)
    if parsed is None:
        wanted = f"{0:020d}{INDEX_SUFFIX}"
        raise ValueError(f"{path}: an index is read by the 20 digits of its name, like {wanted}")
    data = read_regular(path)
    if at is not None and at >= len(data):
        raise ValueError(f"{path} has no byte {at}: it has {count(len(data), 'byte')}")
    recording = Recording("record", "What an index entry looks like on disk")
    settings = topic.settings if topic else TopicSettings()
    dialect = topic.dialect if topic else DOCUMENTED
    segment = Segment(path.parent, parsed[0], dialect, settings.index_interval_bytes)
    if not data:
        _say_empty(recording, path, segment)
        return recording.document()
    bad, reason = _first_fault(data)
    start = bad if at is None else at
    start = (start or 0) - (start or 0) % ENTRY_SIZE_BYTES
    _show(recording, path, data, start)
    _say_file(recording, path, data, start, parsed[0])
    led = _say(recording, path, data, start, segment)
    _say_result(recording, path, start, bad, reason, led)
    return recording.document()


def _say_empty(recording: Recording, path: Path, segment: Segment) -> None:
    """Say if an index may be empty: not if the rule gives a message of its `.log` an entry."""
    said, finding = f"{path.name} is empty: it has no entry.", OK
    if segment.log_path.is_file():
        limit = segment.index_interval_bytes
        messages = (one for one in stretches(segment) if one.message)
        due = next((one for one in messages if is_due(one.start, 0, limit)), None)
        far = f"more than {count(limit, 'byte')} (index.interval.bytes) after its beginning"
        if due and due.message:
            finding = str(FindingClass.INDEX_SPARSE)
            said += (
                f" But message {due.message.offset} of the log begins at byte {due.start}, {far}. "
                "So it should have an entry. Recovery writes the index again."
            )
        else:
            said += f" No message of the log begins {far}, so none gets an entry."
    recording.step(f"{said} Each search in the log begins at byte 0.", values={"finding": finding})


def _first_fault(data: bytes) -> tuple[int | None, str]:
    """Return the byte from which on an index is not valid, and why; None if all of it is."""
    whole = data[: len(data) - len(data) % ENTRY_SIZE_BYTES]
    for part in (whole, data):
        try:
            decode_entries(part)
        except CorruptBytesError as error:
            return error.position, error.reason
    return None, ""


def _show(recording: Recording, path: Path, data: bytes, start: int) -> None:
    first = max(0, start - _SHOWN_BYTES // 2)
    first -= first % ENTRY_SIZE_BYTES
    part = data[first : first + _SHOWN_BYTES]
    fields = [
        field._replace(start=field.start + first, end=field.end + first)
        for field in index_fields(path.name, part)
    ]
    recording.file(path.name, part, fields, start=first, size_bytes=len(data))


def _say_file(recording: Recording, path: Path, data: bytes, start: int, base_offset: int) -> None:
    entry_count, rest_bytes = divmod(len(data), ENTRY_SIZE_BYTES)
    rest = f" and {count(rest_bytes, 'byte')} more" if rest_bytes else ""
    entry = ByteRange(path.name, start, start + ENTRY_SIZE_BYTES)
    recording.step(
        f"{path.name} has {count(len(data), 'byte')}: {count(entry_count, 'entry')} of "
        f"{ENTRY_SIZE_BYTES} bytes{rest}. Its name holds the base offset, {base_offset}. The "
        "entries do not store it.",
        focus=recording.in_view(entry) if start else [],
        values={"base offset": base_offset},
    )


def _say(
    recording: Recording, path: Path, data: bytes, start: int, segment: Segment
) -> _Led | None:
    base_offset = segment.base_offset
    slot_data = data[start : start + ENTRY_SIZE_BYTES]
    if len(slot_data) < ENTRY_SIZE_BYTES:
        return None
    relative, position = (int.from_bytes(slot_data[at : at + 4], signed=True) for at in (0, 4))
    values: dict[str, Value] = {"base offset": base_offset, "relative offset": relative}
    question = ask(
        f"The entry is {relative}, {position}. Which offset does it stand for?",
        str(base_offset + relative),
        f"{base_offset} + {relative}. Offsets in an index are relative to the number in the file "
        "name.",
        {
            str(relative): "That is the relative offset, without the number in the name.",
            str(position): "That is the position, a byte in the .log.",
            str(base_offset + position): "That adds the position. It is a byte, not an offset.",
        },
    )
    recording.step(
        f"Bytes {start} to {start + 3}: the relative offset, {relative}. Added to the number in "
        f"the file name, it gives offset {base_offset + relative}.",
        ask=question_with_enough_choices(question),
        focus=recording.in_view(ByteRange(path.name, start, start + 4)),
        values={**values, "offset": base_offset + relative},
    )
    led = _led(segment, base_offset + relative, position)
    recording.step(
        f"Bytes {start + 4} to {start + 7}: the position, {position}. The message should begin at "
        f"byte {position} of the .log.",
        focus=recording.in_view(ByteRange(path.name, start + 4, start + 8)),
        values={**values, "offset": base_offset + relative, "position": position},
        tables=[_beside(led, position)] if led else [],
    )
    return led


def _led(segment: Segment, offset: int, position: int) -> _Led | None:
    """Return what the `.log` beside the index has at a position; None without a `.log`."""
    if not segment.log_path.is_file() or position < 0:
        return None
    log = segment.log_path.name
    if position >= regular_status(segment.log_path).st_size:
        return _Led(log, None, "nothing, it is past the end", FindingClass.INDEX_PAST_END)
    message = message_at(segment.dialect, segment.log_path, position)
    if message is None:
        return _Led(log, None, "no beginning of a whole message", FindingClass.INDEX_POSITION)
    if message.offset != offset:
        return _Led(log, message.offset, "another message", FindingClass.INDEX_POSITION)
    return _Led(log, offset, "its message", None)


def _beside(led: _Led, position: int) -> Table:
    columns = ("file", "byte", "offset there", "so the entry leads to")
    return Table("The log beside it", columns, ((led.log, position, led.offset, led.told),))


def _say_result(
    recording: Recording, path: Path, start: int, bad: int | None, reason: str, led: _Led | None
) -> None:
    focus = recording.in_view(ByteRange(path.name, start, start + ENTRY_SIZE_BYTES))
    if bad is None and led and led.kind:
        recording.step(
            f"{led.kind}: the entry leads to {led.told}. A search reads the message before it "
            "trusts an entry. So it does not use this one, and begins at byte 0 of the log.",
            focus=focus,
            values={"finding": str(led.kind), "start": start, "end": start + ENTRY_SIZE_BYTES},
        )
        return
    if bad is None:
        size_bytes = path.stat().st_size
        seen = "This entry leads to its message. " if led else ""
        recording.step(
            f"Offsets and positions rise from entry to entry. {seen}Only the log shows if each "
            "entry leads to its message. So a search reads the message before it trusts an entry.",
            focus=focus,
            values={"finding": OK, "start": 0, "end": size_bytes},
        )
        return
    end = path.stat().st_size
    recording.step(
        f"{FindingClass.INDEX_ORDER}: {reason} at byte {bad}. Readers use the entries before it, "
        "and none from there on.",
        focus=recording.in_view(ByteRange(path.name, bad, end)),
        values={"finding": str(FindingClass.INDEX_ORDER), "start": bad, "end": end},
    )
