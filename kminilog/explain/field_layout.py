"""Which field each byte of a `.log` or an `.index` belongs to.

    00 00 00 00 00 00 00 07 │ 00 00 00 16 │ e9 75 38 bc │ …        offset, size, crc, …
    00 00 00 03 │ 00 00 01 f1                                      relative offset, position

Nothing is judged here. So damaged bytes have fields, too, as far as their lengths are possible, and
the rest is `unparsed`. The layout is that of format/message.py and format/index_entry.py. Source:
ours; one owner for each byte: Kaitai's viewers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.explain.document import UNPARSED, Field, Value
from kminilog.format.dialect import Dialect
from kminilog.format.index_entry import ENTRY_SIZE_BYTES

_FIXED = {"offset": 8, "size": 4, "crc": 4, "magic": 1, "attributes": 1, "key length": 4}
NUMBERS = {**_FIXED, "value length": 4}
"""The fields that are numbers, and how many bytes each has."""
_ENTRY = {"relative offset": 4, "position": 4}
_SHOWN_CHARACTERS = 60


class FieldBytes(NamedTuple):
    """One field of a message: its name, where it begins in the message, and its bytes."""

    name: str
    start: int
    data: bytes

    @property
    def number(self) -> int:
        """The bytes as a number, as this field has it: only the crc is unsigned."""
        return int.from_bytes(self.data, signed=self.name != "crc")


def split_fields(dialect: Dialect, data: bytes) -> list[FieldBytes]:
    """Return the fields of one message, in order; of damaged bytes, as far as they go.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> [(f.name, f.start) for f in split_fields(KAFKA, encode(KAFKA, 1, b"key", b"v"))][-4:]
    [('key length', 18), ('key', 22), ('value length', 25), ('value', 29)]
    """
    parts: list[FieldBytes] = []

    def take(name: str, size: int) -> None:
        start = parts[-1].start + len(parts[-1].data) if parts else 0
        parts.append(FieldBytes(name, start, data[start : start + max(size, 0)]))

    for name, size in _FIXED.items():
        take(name, size)
    take("key", parts[-1].number)
    value_bytes = len(data)
    if dialect.has_value_length:
        take("value length", NUMBERS["value length"])
        value_bytes = parts[-1].number
    take("value", value_bytes)
    return [part for part in parts if part.data]


def message_fields(file: str, dialect: Dialect, position: int, data: bytes) -> list[Field]:
    """Return the fields of a message whose bytes begin at `position` of a file; they cover `data`.

    >>> from kminilog.format.dialect import KAFKA
    >>> [(f.name, f.start, f.value) for f in message_fields("f", KAFKA, 40, bytes(13))]
    [('offset', 40, 0), ('size', 48, 0), ('crc', 52, None)]
    """
    fields = [
        _field(file, position + part.start, part.name, part.data, _value(part))
        for part in split_fields(dialect, data)
    ]
    end = fields[-1].end if fields else position
    if end < position + len(data):
        fields.append(_field(file, end, UNPARSED, data[end - position :], None))
    return fields


def index_fields(file: str, data: bytes) -> list[Field]:
    """Return the fields of a whole `.index`: two numbers for each entry; they cover `data`.

    >>> data = bytes.fromhex("00000003 000001f1 00")
    >>> [(f.name, f.start, f.value) for f in index_fields("i", data)]
    [('relative offset', 0, 3), ('position', 4, 497), ('unparsed', 8, None)]
    """
    return list(_index_fields(file, data))


def _index_fields(file: str, data: bytes) -> Iterator[Field]:
    whole = len(data) - len(data) % ENTRY_SIZE_BYTES
    for start in range(0, whole, ENTRY_SIZE_BYTES):
        at = start
        for name, size in _ENTRY.items():
            part = data[at : at + size]
            yield _field(file, at, name, part, int.from_bytes(part, signed=True))
            at += size
    if whole < len(data):
        yield _field(file, whole, UNPARSED, data[whole:], None)


def _value(part: FieldBytes) -> Value:
    if part.name in ("key", "value"):
        text = part.data.decode("utf-8", "backslashreplace")
        return text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "…"
    return part.number if len(part.data) == NUMBERS[part.name] else None


def _field(file: str, start: int, name: str, data: bytes, value: Value) -> Field:
    return Field(file, start, start + len(data), name, name.replace(" ", "-"), value)
