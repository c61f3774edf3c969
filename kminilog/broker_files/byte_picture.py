"""Which field each byte of a message or batch belongs to, and what it says.

    00  00 00 00 00 00 05 a0 84  base offset   368772
    08  00 00 00 38              length        56 bytes follow
    ...

Nothing is judged here: damaged bytes have fields, too, as far as these can be told, and what is
left is `unparsed`. Each byte has one field. The records of a compressed batch are one field; when
decompressed, they have fields of their own, whose positions count from their own first byte.
Source: `broker_files.record_batch` and `broker_files.message_set`, whose layouts these are.
"""

from collections.abc import Iterator
from typing import NamedTuple

from kminilog.broker_files.codecs import codec_name
from kminilog.broker_files.varint import Varint, decode_varint
from kminilog.text import count

UNPARSED = "unparsed"
_MAGIC_AT = 16
_PREFIX = (("offset", 8), ("size", 4), ("crc", 4), ("magic", 1), ("attributes", 1))
_BATCH = (
    ("base offset", 8),
    ("length", 4),
    ("partition leader epoch", 4),
    ("magic", 1),
    ("crc", 4),
    ("attributes", 2),
    ("last offset delta", 4),
    ("base timestamp", 8),
    ("max timestamp", 8),
    ("producer id", 8),
    ("producer epoch", 2),
    ("base sequence", 4),
    ("record count", 4),
)
_FLAGS = ((0x10, "transactional"), (0x20, "control batch"), (0x40, "delete horizon"))
FieldValue = int | bytes | None


class StoredField(NamedTuple):
    """Bytes of one field: where, called what, its value, and what that means in a few words.

    `record` numbers the records of a batch from 0; None for a field in front of them.
    """

    position: int
    length: int
    name: str
    value: FieldValue
    meaning: str = ""
    record: int | None = None


def fields_of_batch(data: bytes) -> list[StoredField]:
    """Return the fields of one message or batch of whatever format; they cover all of `data`.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> [tuple(field) for field in fields_of_batch(encode(KAFKA, 7, None, b"hi"))][-3:-1]
    [(18, 4, 'key length', -1, 'null', None), (22, 4, 'value length', 2, '', None)]
    """
    magic = int.from_bytes(data[_MAGIC_AT : _MAGIC_AT + 1], signed=True)
    if len(data) > _MAGIC_AT and magic not in (0, 1):
        return _covering(data, _batch_fields(data) if magic == 2 else ())
    return _covering(data, _message_fields(data, magic))


def fields_of_records(payload: bytes, base_offset: int = 0) -> list[StoredField]:
    """Return the fields of decompressed records of format v2; they cover all of `payload`.

    >>> fields = fields_of_records(bytes.fromhex("12 00 04 00 02 6b 04 68 69 00"), 7)
    >>> [(field.name, field.value) for field in fields][:4]
    [('length', 9), ('attributes', 0), ('timestamp delta', 2), ('offset delta', 0)]
    """
    return _covering(payload, _all_records(payload, 0, base_offset))


def _covering(data: bytes, fields: Iterator[StoredField] | tuple[()]) -> list[StoredField]:
    """Return fields up to the first that does not fit, and the rest as one field."""
    found: list[StoredField] = []
    end = 0
    for field in fields:
        if field.position + field.length > len(data):
            break
        found.append(field)
        end = field.position + field.length
    if end < len(data):
        found.append(StoredField(end, len(data) - end, UNPARSED, data[end:]))
    return found


def _numbers(
    data: bytes, names: tuple[tuple[str, int], ...], position: int = 0
) -> Iterator[StoredField]:
    for name, length in names:
        number = int.from_bytes(data[position : position + length], signed=name != "crc")
        yield StoredField(position, length, name, number, _meaning(name, number))
        position += length


def _meaning(name: str, number: int) -> str:
    if name in ("length", "size"):
        return f"{count(number, 'byte', 'follow')}"
    if number == -1 and name in ("producer id", "producer epoch", "base sequence"):
        return "none: the producer is not idempotent"
    if number == -1 and name.endswith(("key length", "value length")):
        return "null"
    return ""


def _message_fields(data: bytes, magic: int) -> Iterator[StoredField]:
    """Yield the fields of a message of format v0 or v1."""
    codec = "none"
    for field in _numbers(data, _PREFIX):
        if field.name == "attributes" and isinstance(field.value, int):
            codec = codec_name(field.value)
            field = field._replace(meaning=_attributes(field.value, has_time=magic == 1))
        yield field
    position = sum(length for _, length in _PREFIX)
    if magic == 1:
        yield from _numbers(data, (("timestamp", 8),), position)
        position += 8
    for name in "key", "value":
        (length,) = _numbers(data, ((f"{name} length", 4),), position)
        yield length
        position += 4
        bytes_here = max(int(length.value or 0), 0)
        if bytes_here:
            content = data[position : position + bytes_here]
            meaning = f"messages, compressed with {codec}"
            is_set = name == "value" and codec != "none"
            yield StoredField(position, bytes_here, name, content, meaning if is_set else "")
        position += bytes_here


def _batch_fields(data: bytes) -> Iterator[StoredField]:
    """Yield the fields of a batch of format v2."""
    codec, base_offset, position = "none", 0, 0
    for field in _numbers(data, _BATCH):
        value = field.value if isinstance(field.value, int) else 0
        if field.name == "base offset":
            base_offset = value
        elif field.name == "attributes":
            codec = codec_name(value)
            field = field._replace(meaning=_attributes(value, has_time=True))
        elif field.name == "last offset delta":
            field = field._replace(meaning=f"the last offset is {base_offset + value}")
        yield field
        position = field.position + field.length
    if codec != "none" and position < len(data):
        meaning = f"compressed with {codec}"
        yield StoredField(position, len(data) - position, "records", data[position:], meaning)
    else:
        yield from _all_records(data, position, base_offset)


def _attributes(number: int, *, has_time: bool) -> str:
    words = [codec_name(number)]
    if has_time:
        words.append("LogAppendTime" if number & 0x08 else "CreateTime")
    words += [word for bit, word in _FLAGS if number & bit]
    return ", ".join(words)


def _all_records(data: bytes, position: int, base_offset: int) -> Iterator[StoredField]:
    number = 0
    while position < len(data):
        for field in _record_fields(data, position, base_offset):
            yield field._replace(record=number)
            position = field.position + field.length
        number += 1


def _record_fields(data: bytes, position: int, base_offset: int) -> Iterator[StoredField]:
    """Yield the fields of one record; after a varint that is none, one that does not fit."""

    def varint(name: str, meaning: str = "", bits: int = 32) -> StoredField:
        found = decode_varint(data, position, bits=bits)
        if not isinstance(found, Varint):
            return StoredField(position, len(data) + 1, name, None)
        meaning = meaning or _meaning(name, found.value)
        return StoredField(position, found.end - position, name, found.value, meaning)

    def content(name: str, length: int) -> StoredField:
        return StoredField(position, length, name, data[position : position + length])

    yield (field := varint("length"))
    position += field.length
    yield StoredField(position, 1, "attributes", data[position] if position < len(data) else 0)
    position += 1
    yield (field := varint("timestamp delta", bits=64))
    position += field.length
    field = varint("offset delta")
    yield field._replace(meaning=f"offset {base_offset + (_int(field))}")
    position += field.length
    for name in "key", "value":
        yield (field := varint(f"{name} length"))
        position += field.length
        if _int(field) > 0:
            yield (field := content(name, _int(field)))
            position += field.length
    yield (count := varint("header count"))
    position += count.length
    for _ in range(_int(count)):
        for name in "header key", "header value":
            yield (field := varint(f"{name} length"))
            position += field.length
            if _int(field) > 0:
                yield (field := content(name, _int(field)))
                position += field.length


def _int(field: StoredField) -> int:
    return field.value if isinstance(field.value, int) else 0
