"""`step record FILE.index`: one entry of an `.index`, and the message where it leads.

    relative offset + the number in the file's name = offset;  position = byte in the .log

The entry is compared with those before it, and with the `.log` beside it, if there is one. Source:
S1 5.2; Kafka: OffsetIndex.
"""

from pathlib import Path

from kminilog.course.steps.document import ByteRange, Document, Table, Value
from kminilog.course.steps.field_layout import index_fields
from kminilog.course.steps.recording import Recording, ask, question_with_enough_choices
from kminilog.course.steps.stretches import read_range
from kminilog.errors import CorruptBytesError
from kminilog.format.index_entry import ENTRY_SIZE_BYTES, decode_entries
from kminilog.format.names import INDEX_SUFFIX, LOG_SUFFIX, parse_segment_file
from kminilog.storage.files import read_regular
from kminilog.text import count
from kminilog.verification.findings import FindingClass

OK = "ok"
_SHOWN_BYTES = 1024


def document(path: Path, at: int | None = None) -> Document:
    """Return the step-through for the entry that holds byte `at`; by default, the first bad one.

    If all are in order, the first one. Raises ValueError for a byte past the end, or a name that
    is not 20 digits, and OSError.
    """
    parsed = parse_segment_file(path.name)
    if parsed is None:
        wanted = f"{0:020d}{INDEX_SUFFIX}"
        raise ValueError(f"{path}: an index is read by the 20 digits of its name, like {wanted}")
    data = read_regular(path)
    if at is not None and at >= len(data):
        raise ValueError(f"{path} has no byte {at}: it has {len(data)} bytes")
    recording = Recording("record", "What an index entry looks like on disk")
    if not data:
        recording.step(
            f"{path.name} is empty. No message is far enough from the beginning of its log.",
            values={"finding": OK},
        )
        return recording.document()
    bad, reason = _first_fault(data)
    start = bad if at is None else at
    start = (start or 0) - (start or 0) % ENTRY_SIZE_BYTES
    _show(recording, path, data, start)
    _say(recording, path, data, start, parsed[0])
    _say_result(recording, path, start, bad, reason)
    return recording.document()


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


def _say(recording: Recording, path: Path, data: bytes, start: int, base_offset: int) -> None:
    recording.step(
        f"{path.name} has {count(len(data), 'byte')}, which are {len(data) // ENTRY_SIZE_BYTES} "
        f"entries of {ENTRY_SIZE_BYTES} bytes. Its name holds the base offset, {base_offset}. The "
        "entries do not store it.",
        focus=recording.in_view(ByteRange(path.name, start, start + ENTRY_SIZE_BYTES))
        if start
        else [],
        values={"base offset": base_offset},
    )
    slot_data = data[start : start + ENTRY_SIZE_BYTES]
    if len(slot_data) < ENTRY_SIZE_BYTES:
        return
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
    recording.step(
        f"Bytes {start + 4} to {start + 7}: the position, {position}. The message should begin at "
        f"byte {position} of the .log.",
        focus=recording.in_view(ByteRange(path.name, start + 4, start + 8)),
        values={**values, "offset": base_offset + relative, "position": position},
        tables=_beside(path, base_offset + relative, position),
    )


def _beside(path: Path, offset: int, position: int) -> list[Table]:
    """Return what the `.log` beside the index has at a position; nothing without a `.log`."""
    log = path.with_suffix(LOG_SUFFIX)
    if not log.is_file() or position < 0:
        return []
    found = read_range(log, position, position + 8)
    there = int.from_bytes(found) if len(found) == 8 else None
    told = "as it should" if there == offset else "another one" if found else "after its end"
    columns = ("file", "byte", "offset there", "so the entry leads to")
    return [Table("The log beside it", columns, ((log.name, position, there, told),))]


def _say_result(recording: Recording, path: Path, start: int, bad: int | None, reason: str) -> None:
    if bad is None:
        size_bytes = path.stat().st_size
        recording.step(
            "Offsets and positions rise from entry to entry. Only the log shows if each entry "
            "leads to its message. So a search reads the message before it trusts an entry.",
            focus=recording.in_view(ByteRange(path.name, start, start + ENTRY_SIZE_BYTES)),
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
