"""What `dump` shows of a message, of damage and of an index entry, as lines for people.

    offset 7, byte 32: size 22, crc 4b41698d, magic 0, attributes 0, key 4 bytes, value 6 bytes
    offset ?, byte 66: DAMAGED, bad-crc: crc is ...; 34 bytes left out
    offset 8, byte 64 (relative 3)
        in the .log: the message with offset 9 begins at that byte

The words for damage are those of `verify`. Source: ours.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from kminilog.cli.log_dump import Dumped
from kminilog.cli.message_fields import entry_hex_lines, hex_lines, key_and_value
from kminilog.format.dialect import Dialect
from kminilog.text import BAD, FIT_COLUMNS, QUIET, Span, StyledText, count, indented

_HEX_BYTES = 512
_INDENT = "    "


def message_lines(
    dumped: Dumped, dialect: Dialect, *, print_data: bool, as_hex: bool
) -> Iterator[str]:
    """Yield the lines of a message, or of damage: with key and value, and with its bytes."""
    record, message = dumped.record(dialect), dumped.message
    if message is None:
        yield _damage(record)
    else:
        yield _message(record)
        if print_data:
            yield StyledText(_INDENT, *key_and_value(message, FIT_COLUMNS - len(_INDENT)))
    if as_hex:
        data = dumped.data(dialect)
        yield from _bytes(data, hex_lines(dialect, record["position"], data[:_HEX_BYTES]))


def entry_lines(record: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of an index entry: what the log has there, and its bytes, if it has them."""
    yield from _entry(record)
    if "hex" in record:
        data = bytes.fromhex(record["hex"])
        yield from _bytes(data, entry_hex_lines(record["index_position"], data[:_HEX_BYTES]))


def _bytes(data: bytes, lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the first bytes of some data, and how many more there are."""
    for line in lines:
        yield indented(line, "  ")
    if len(data) > _HEX_BYTES:
        yield f"  … {count(len(data) - _HEX_BYTES, 'byte')} more"


def _entry(record: dict[str, Any]) -> Iterator[str]:
    if record["offset"] is None:
        damage = Span(f"DAMAGED, {record['fault']}: {record['detail']}", BAD)
        yield StyledText(damage, f"; {count(record['skipped_bytes'], 'byte')} left out")
        return
    offset, position, relative = record["offset"], record["position"], record["relative_offset"]
    where = Span(f"offset {offset}", "offset")
    yield StyledText(where, ", ", Span(f"byte {position}", "position"), f" (relative {relative})")
    if "log_offset" not in record:
        return
    found = record["log_offset"]
    if found is None:
        yield StyledText("    in the .log: ", Span("no whole message begins at that byte", BAD))
    elif found == offset:
        yield "    in the .log: the message with this offset begins at that byte"
    else:
        other = Span(f"the message with offset {found} begins at that byte", BAD)
        yield StyledText("    in the .log: ", other)


def _message(record: dict[str, Any]) -> StyledText:
    inside = ", inside a compressed one" if record.get("deep") else ""
    codec = f", compressed with {record['codec']}" if record["codec"] != "none" else ""
    return StyledText(
        Span(f"offset {record['offset']}", "offset"),
        f", byte {record['position']}{inside}: ",
        Span(f"size {record['size']}", "size"),
        ", ",
        Span(f"crc {record['crc']:08x}", "crc"),
        ", ",
        Span(f"magic {record['magic']}", "magic"),
        ", ",
        Span(f"attributes {record['attributes']}", "attributes"),
        ", ",
        Span(f"key {_size(record['key_size'])}", "key"),
        ", ",
        Span(f"value {_size(record['value_size'])}", "value"),
        Span(codec, QUIET),
    )


def _damage(record: dict[str, Any]) -> StyledText:
    offset = "?" if record["offset"] is None else record["offset"]
    return StyledText(
        f"offset {offset}, byte {record['position']}: ",
        Span(f"DAMAGED, {record['fault']}: {record['detail']}", BAD),
        f"; {count(record['skipped_bytes'], 'byte')} left out",
    )


def _size(number: int) -> str:
    return "null" if number < 0 else count(number, "byte")
