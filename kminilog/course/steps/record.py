"""`step record`: one message of a `.log`, field by field; of damage, as far as its fields go.

    offset  size  crc  magic  attributes  key length  key  (value length)  value

It shows the message that holds a byte, in its file, with its neighbours, what each field means, and
what is usually thought of it. The last step says what `verify` says of these bytes, whether they
are valid, and which bytes that is about. Whether the offset is the one that belongs there, no
single message tells. Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset.
"""

from pathlib import Path

from kminilog.explain.document import ByteRange, Document, Field, Table, Value
from kminilog.explain.field_layout import NUMBERS, message_fields
from kminilog.explain.recording import Recording
from kminilog.explain.script import Script
from kminilog.explain.stretches import Neighbourhood, Stretch, neighbourhood, read_range
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, CRC_END, KEY_START, SIZE_END, encode

OK = "ok"
SAMPLE_OFFSET = 368772
STEPS = (
    *("An empty file", "The file", "The beginning of a number", "No field"),
    *("The offset", "The size", "The crc", "The magic", "The attributes"),
    *("The key length", "The key", "The value length", "The value", "A whole message", "Damage"),
)
_SHOWN_BYTES = 4096
_SHOWN_ROWS = 12


def sample(dialect: Dialect) -> bytes:
    """Return the message of docs/format.md, which is shown without a file.

    >>> from kminilog.format.dialect import DIALECTS
    >>> {name: len(sample(dialect)) for name, dialect in DIALECTS.items()}
    {'documented': 31, 'kafka': 35}
    """
    return encode(dialect, SAMPLE_OFFSET, b"alice", b"book")


def document(path: Path, dialect: Dialect, at: int | None = None) -> Document:
    """Return the step-through for the message that holds byte `at`; its last state has `finding`.

    By default, the first damage, else the first message. O(file). Raises ValueError for a byte
    after the end, and OSError.
    """
    around = neighbourhood(path, dialect, at)
    chosen = around.chosen
    told = Script(__file__, "record", STEPS, file=path.name, around=around, chosen=chosen)
    recording = told.recording
    if chosen is None:
        told.tell("An empty file", values={"finding": OK})
        return told.document()
    start, end, message, damage = chosen
    _show_file(recording, path, dialect, around, chosen)

    slot = around.near.index(chosen)
    first = max(0, min(slot - _SHOWN_ROWS // 2, len(around.near) - _SHOWN_ROWS))
    rows = tuple(map(_row, around.near[first : first + _SHOWN_ROWS]))
    columns = ("byte", "bytes", "offset", "finding")
    whole = recording.in_view(ByteRange(path.name, start, end))
    focus = whole  # the panel of bytes opens at the damage, or at a message after others
    if message:
        offset = ByteRange(path.name, start, start + NUMBERS["offset"])
        focus = recording.in_view(offset) if slot else []
    told.tell(
        "The file",
        focus=focus,
        values={"messages": around.message_count, "damaged places": around.damage_count},
        tables=[Table("Messages in the file", columns, rows, (slot - first,))],
        bytes=range(start, end),
        shown_bytes=_SHOWN_BYTES,
    )

    data = read_range(path, start, min(end, start + _SHOWN_BYTES) if damage else end)
    values: dict[str, Value] = {}
    for field in message_fields(path.name, dialect, start, data):
        values[field.name] = field.value
        step, number = f"The {field.name}", field.value if isinstance(field.value, int) else 0
        if step not in STEPS:
            step = "No field"
        elif field.value is None and field.name in NUMBERS:
            step = "The beginning of a number"
        told.tell(
            step,
            asks=damage is None,
            focus=recording.in_view(ByteRange(field.file, field.start, field.end)),
            values=values,
            bytes=range(field.start, field.end),
            field=field,
            data=data[field.start - start : field.end - start],
            codec=CODECS.get(number & 7, "unknown"),
            size_end=SIZE_END,
            after_size=start + SIZE_END,
            after_crc=start + CRC_END,
            after_header=start + KEY_START,
        )
    values = {"start": start, "end": end}
    if message:
        values |= {"offset": message.offset, "crc": message.crc}
    told.tell(
        "Damage" if damage else "A whole message",
        focus=whole,
        values={"finding": str(damage.kind) if damage else OK, **values},
        bytes=range(start, end),
    )
    return told.document()


def _show_file(
    recording: Recording, path: Path, dialect: Dialect, around: Neighbourhood, chosen: Stretch
) -> None:
    """Show the neighbours that fit beside the message; a long message, in part."""
    near = [one for one in around.near if one is chosen or one.end - one.start <= _SHOWN_BYTES]
    while sum(one.end - one.start for one in near) > _SHOWN_BYTES and len(near) > 1:
        near.remove(max(near, key=lambda one: abs(one.start - chosen.start)))
    start, end = near[0].start, near[-1].end
    end = min(end, max(start + _SHOWN_BYTES, chosen.start + _SHOWN_BYTES))
    fields: list[Field] = []
    for one in near:
        part = read_range(path, one.start, min(one.end, end))
        fields += message_fields(path.name, dialect, one.start, part)
    data = read_range(path, start, end)
    recording.file(path.name, data, fields, start=start, size_bytes=around.size_bytes)
    recording.damaged = [ByteRange(path.name, one.start, one.end) for one in near if one.damage]


def _row(one: Stretch) -> tuple[Value, ...]:
    finding = str(one.damage.kind) if one.damage else OK
    return one.start, one.end - one.start, one.message.offset if one.message else None, finding
