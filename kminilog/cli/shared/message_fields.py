"""A message for human eyes and for scripts: as hex, and as JSON.

    00000000  00 00 00 00 00 00 00 01 00 00 00 12 4b 41 69 8d  |............KAi.|

The layout is that of format/message.py. This module does not check the fields. So it can show
damaged bytes, too, as far as their lengths are possible. Source: ours.
"""

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Protocol
from zlib import crc32

from kminilog.cli.shared.output import width
from kminilog.explain.document import Field
from kminilog.explain.field_layout import NUMBERS, index_fields, message_fields, split_fields
from kminilog.format.dialect import Dialect
from kminilog.format.message import CODECS, CRC_END, KEY_START, SIZE_END, Message, decode
from kminilog.json_fields import bytes_field
from kminilog.storage.segment.whole_messages import decode_any, format_name
from kminilog.text import (
    QUIET,
    Span,
    StyledText,
    ascii_cells,
    byte_rows,
    shown_beside,
    text_cells,
)

_BYTES_A_LINE = 16
_LINE_COLUMNS = 80  # which as many bytes need; a narrower terminal shows half as many
_TEXTS = ("key", "value")


class KeyAndValue(Protocol):
    """A message or a record, of whatever format."""

    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...


def message_json(position: int, message: Message) -> dict[str, Any]:
    """Return a message as `dump --json` prints it."""
    return {
        "offset": message.offset,
        "position": position,
        "size": message.size,
        "crc": message.crc,
        "valid": True,
        "magic": message.magic,
        "attributes": message.attributes,
        "codec": message.codec,
        "key_size": -1 if message.key is None else len(message.key),
        "value_size": -1 if message.value is None else len(message.value),
        **bytes_field("key", message.key),
        **bytes_field("value", message.value),
    }


def key_and_value(message: KeyAndValue, width: int) -> tuple[Span | str, ...]:
    """Return the parts of a line of so many columns: key and value, cut if they are too long."""
    names = ("key ", ", value ")
    room = width - sum(map(len, names))
    key, value = shown_beside(message.key, message.value, room)
    return names[0], Span(key, "key"), names[1], Span(value, "value")


def damage_json(dialect: Dialect, position: int, data: bytes) -> dict[str, Any]:
    """Return the fields of bytes that should be a message, whether they are right or not.

    Key and value are given if only the CRC is wrong; unknown fields are null. What is whole in
    another format has no fields of this one, but for those at the same places.
    """
    said = {
        field.name: field.number
        for field in split_fields(dialect, data)
        if len(field.data) == NUMBERS.get(field.name)
    }
    message = _with_right_crc(dialect, data)
    if message:
        return {**message_json(position, message), "crc": said["crc"], "valid": False}
    whole = decode_any(data)
    if isinstance(whole, Message) and format_name(whole):
        said = {name: said[name] for name in ("offset", "size", "magic")}
    attributes = said.get("attributes")
    return {
        "offset": said.get("offset"),
        "position": position,
        "size": said.get("size"),
        "crc": said.get("crc"),
        "valid": False,
        "magic": said.get("magic"),
        "attributes": attributes,
        "codec": None if attributes is None else CODECS.get(attributes & 7, "unknown"),
        "key_size": said.get("key length"),
        "value_size": None,
        "key": None,
        "value": None,
    }


def _with_right_crc(dialect: Dialect, data: bytes) -> Message | None:
    """The message that these bytes would be with a right CRC; None if there is none."""
    size = int.from_bytes(data[SIZE_END - 4 : SIZE_END], signed=True)
    if len(data) < KEY_START or size < CRC_END - SIZE_END:
        return None
    covered = data[CRC_END : SIZE_END + size]
    outcome = decode(dialect, data[:SIZE_END] + crc32(covered).to_bytes(4) + covered)
    return outcome if isinstance(outcome, Message) else None


def hex_lines(dialect: Dialect, position: int, data: bytes) -> Iterator[StyledText]:
    r"""Yield a message in lines of 16 bytes, or 8: position in the file, hex, and what is text.

    Bytes are styled by their field; damaged ones, too, as far as their lengths are possible.

    >>> from kminilog.format.dialect import DOCUMENTED
    >>> print(*hex_lines(DOCUMENTED, 497, b"book\n"))
    00000497  62 6f 6f 6b 0a                                   |book.|
    >>> print(*hex_lines(DOCUMENTED, 0, b"." * 64), sep="\n")
    00000000  2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e 2e  |................|
    00000016  48 more 0x2e
    """
    yield from _hex_lines(position, data, message_fields("", dialect, 0, data))


def entry_hex_lines(position: int, data: bytes) -> Iterator[StyledText]:
    """Yield entries of an index in such lines.

    >>> print(*entry_hex_lines(8, bytes.fromhex("00000003 000001f1")))
    00000008  00 00 00 03 00 00 01 f1                          |........|
    """
    yield from _hex_lines(position, data, index_fields("", data))


def _hex_lines(position: int, data: bytes, fields: list[Field]) -> Iterator[StyledText]:
    line_bytes = _BYTES_A_LINE if width() >= _LINE_COLUMNS else _BYTES_A_LINE // 2
    cells, kinds = ascii_cells(data), [""] * len(data)
    for field in fields:
        here = slice(field.start, field.end)
        kinds[here] = [field.kind] * (field.end - field.start)
        if field.kind in _TEXTS:
            cells[here] = text_cells(data[here], line_bytes, field.start)
    for start, end, run in byte_rows(data, line_bytes):
        row = range(start, end)
        runs = [(kind, list(at)) for kind, at in groupby(row, key=lambda at: kinds[at])]
        hexes = [Span(data[at[0] : at[-1] + 1].hex(" "), kind) for kind, at in runs]
        texts = [Span("".join(cells[n] for n in at), kind) for kind, at in runs]
        blanks = "   " * (line_bytes - len(row))
        between = [part for one in hexes for part in (one, Span(" "))]
        place = Span(f"{position + start:08d}  ", QUIET)
        if run:
            yield StyledText(place, Span(run, kinds[start]))
            continue
        yield StyledText(place, *between, f"{blanks} |", *texts, "|")
