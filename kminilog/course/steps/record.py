"""`step record`: one message of a `.log`, field by field; of damage, as far as its fields go.

    offset  size  crc  magic  attributes  key length  key  (value length)  value

It shows the message that holds a byte, in its file, with its neighbours, what each field means, and
what is usually thought of it. The last step says what `verify` says of these bytes, whether they
are valid, and which bytes that is about. Whether the offset is the one that belongs there, no
single message tells. Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset.
"""

from collections.abc import Sequence
from pathlib import Path

from kminilog.explain.document import Ask, ByteRange, Document, Field, Table, Value
from kminilog.explain.field_layout import NUMBERS, message_fields
from kminilog.explain.recording import Recording, ask
from kminilog.explain.stretches import (
    Neighbourhood,
    Stretch,
    neighbourhood,
    read_range,
)
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, CRC_END, KEY_START, SIZE_END
from kminilog.text import count, numbered, shown

# ---- what the fields mean


def meaning(field: Field, start: int, data: bytes = b"", *, is_damaged: bool = False) -> str:
    """Return what a field says, in one or two sentences; its message begins at byte `start`.

    `data` are the bytes of the message. Of damaged bytes it says what should be so.

    >>> meaning(Field("f", 16, 17, "magic", "magic", 0), 0)
    'Byte 16: the magic byte, 0. It is the version of the message format, and must be 0 here.'
    """
    where = numbered(range(field.start, field.end), "byte").capitalize()
    value = data[field.start - start : field.end - start]
    return f"{where}: {_what(field, start, value, is_damaged=is_damaged)}."


def _what(field: Field, start: int, data: bytes, *, is_damaged: bool) -> str:
    value = field.value
    number = value if isinstance(value, int) else 0
    if value is None and field.name in NUMBERS:
        return f"the beginning of the {field.name}. The bytes end before it does"
    match field.name:
        case "offset":
            return (
                f"the offset, {value}. It is the number of the message in its partition. No "
                "checksum covers it"
            )
        case "size" | "crc":
            return _what_is_checked(field.name, number, start, is_damaged=is_damaged)
        case "magic":
            return (
                f"the magic byte, {value}. It is the version of the message format, and must be 0 "
                "here"
            )
        case "attributes":
            codec = CODECS.get(number & 7, "unknown")
            return (
                f"the attributes, {value}. The lowest three bits name the codec of a compressed "
                f"message: {codec}"
            )
        case "key length" | "value length" if value == -1:
            noun = field.name.split()[0]
            return (
                f"the {field.name}, -1. It stands for no {noun}, which is not the same as an empty "
                f"{noun}"
            )
        case "key length" | "value length":
            return f"the {field.name}, {value}"
        case "key" | "value":
            place = "by the lengths, the place of the" if is_damaged else "the"
            return f"{place} {field.name}: {shown(data, 60)}"
        case _:
            return "no field. By the lengths before them, nothing belongs here"


def _what_is_checked(name: str, number: int, start: int, *, is_damaged: bool) -> str:
    """Return what size and CRC say; of a damaged message, what they should say."""
    if name == "crc":
        covered = f"the CRC-32 of everything after it, from byte {start + CRC_END} on"
        return f"the CRC, {number}. It {'should be' if is_damaged else 'is'} {covered}"
    after = start + SIZE_END + number
    if is_damaged:
        return (
            f"the size, {number}. It should count the bytes after this field. By this size, the "
            f"next message would begin at byte {after}"
        )
    return (
        f"the size, {number}. It counts the bytes after this field. So the next message must "
        f"begin at byte {after}"
    )


def question(field: Field, start: int, end: int) -> Ask | None:
    """Return what to ask of a field of the message in bytes `start` to `end`; None for most."""
    if field.name == "size" and isinstance(field.value, int):
        return _of_size(field.value, start)
    if field.name == "crc":
        return _of_crc(start, end)
    return None


def _of_size(size: int, start: int) -> Ask:
    return ask(
        f"The message begins at byte {start}, and its size is {size}. Where does the next message "
        "begin?",
        str(start + SIZE_END + size),
        f"The size counts the bytes after the size field: {start} + {SIZE_END} + {size}.",
        {
            str(start + size): "That takes the size for the length of the whole message. But the "
            "size counts neither the offset nor itself.",
            str(start + 8 + size): "That leaves out the size field, which has 4 bytes.",
            str(start + KEY_START + size): "That counts a part of the header twice. The size "
            "includes the fields of the header after the size.",
        },
    )


def _of_crc(start: int, end: int) -> Ask:
    return ask(
        "Which bytes does the CRC cover?",
        f"{start + CRC_END} to {end - 1}",
        "It covers all fields after it: magic, attributes, lengths, key and value.",
        {
            f"{start} to {end - 1}": "A CRC cannot cover itself. It does not cover the offset "
            "either. So a broker can give a message its offset without a new CRC.",
            f"{start + SIZE_END} to {end - 1}": "A CRC cannot cover itself.",
            f"{start + KEY_START} to {end - 1}": "That leaves out magic, attributes and key "
            "length. The CRC covers them, too.",
        },
    )


# ---- the steps


OK = "ok"
_SHOWN_BYTES = 4096
_SHOWN_ROWS = 12


def document(path: Path, dialect: Dialect, at: int | None = None) -> Document:
    """Return the step-through for the message that holds byte `at`; its last state has `finding`.

    By default, the first damage, else the first message. O(file). Raises ValueError for a byte
    after the end, and OSError.
    """
    around = neighbourhood(path, dialect, at)
    recording = Recording("record", "What a message looks like on disk")
    chosen = around.chosen
    if chosen is None:
        recording.step(f"{path.name} is empty: it holds no message.", values={"finding": OK})
        return recording.document()
    _show_file(recording, path, dialect, around, chosen)
    end = chosen.end if chosen.message else min(chosen.end, chosen.start + _SHOWN_BYTES)
    data = read_range(path, chosen.start, end)
    fields = message_fields(path.name, dialect, chosen.start, data)
    _say_file(recording, path, around, chosen)
    for field in fields:
        _say_field(recording, field, chosen, fields, data)
    _say_result(recording, path.name, chosen)
    return recording.document()


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


def _say_file(recording: Recording, path: Path, around: Neighbourhood, chosen: Stretch) -> None:
    what = "no whole message" if chosen.damage else f"the message with offset {_offset(chosen)}"
    places = count(around.damage_count, "damaged place")
    damaged = f" and {places}" if around.damage_count else ""
    where = numbered(range(chosen.start, chosen.end), "byte", "are").capitalize()
    is_cut = chosen.damage and chosen.end - chosen.start > _SHOWN_BYTES
    cut = f" Only the first {_SHOWN_BYTES} of them are shown by their fields." if is_cut else ""
    slot = around.near.index(chosen)
    first = max(0, min(slot - _SHOWN_ROWS // 2, len(around.near) - _SHOWN_ROWS))
    rows = tuple(map(_row, around.near[first : first + _SHOWN_ROWS]))
    columns = ("byte", "bytes", "offset", "finding")
    recording.step(
        f"{path.name} has {count(around.size_bytes, 'byte')} and holds "
        f"{count(around.message_count, 'message')}{damaged}. {where} {what}.{cut}",
        focus=_first_look(recording, path.name, chosen, around),
        values={"messages": around.message_count, "damaged places": around.damage_count},
        tables=[Table("Messages in the file", columns, rows, (slot - first,))],
    )


def _first_look(
    recording: Recording, file: str, chosen: Stretch, around: Neighbourhood
) -> list[ByteRange]:
    """Return what the panel of bytes opens at: the damage, or a message after others."""
    if chosen.damage:
        return recording.in_view(ByteRange(file, chosen.start, chosen.end))
    is_after_another = chosen is not around.near[0]
    offset = ByteRange(file, chosen.start, chosen.start + NUMBERS["offset"])
    return recording.in_view(offset) if is_after_another else []


def _row(one: Stretch) -> tuple[Value, ...]:
    finding = str(one.damage.kind) if one.damage else OK
    return one.start, one.end - one.start, _offset(one), finding


def _offset(stretch: Stretch) -> int | None:
    return stretch.message.offset if stretch.message else None


def _say_field(
    recording: Recording, field: Field, chosen: Stretch, fields: Sequence[Field], data: bytes
) -> None:
    said: dict[str, Value] = {one.name: one.value for one in fields if one.start <= field.start}
    recording.step(
        meaning(field, chosen.start, data, is_damaged=chosen.damage is not None),
        ask=None if chosen.damage else question(field, chosen.start, chosen.end),
        focus=recording.in_view(ByteRange(field.file, field.start, field.end)),
        values=said,
    )


def _say_result(recording: Recording, file: str, chosen: Stretch) -> None:
    values: dict[str, Value] = {"start": chosen.start, "end": chosen.end}
    focus = recording.in_view(ByteRange(file, chosen.start, chosen.end))
    message = chosen.message
    if message:
        recording.step(
            f"The CRC matches, so bytes {chosen.start} to {chosen.end - 1} are a whole message. "
            f"Its key is {shown(message.key, 60)}, its value {shown(message.value, 60)}. Only the "
            f"messages around it show if offset {message.offset} belongs here.",
            focus=focus,
            values={"finding": OK, **values, "offset": message.offset, "crc": message.crc},
        )
    elif chosen.damage:
        where = numbered(range(chosen.start, chosen.end), "byte", "hold").capitalize()
        recording.step(
            f"{chosen.damage.kind}: {chosen.damage.detail}. {where} no whole message.",
            focus=focus,
            values={"finding": str(chosen.damage.kind), **values},
        )
