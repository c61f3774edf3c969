"""One message: how it is encoded in bytes, and the three outcomes of decoding.

    byte  0        8      12     16      17           18           22        22+K
          +--------+------+------+-------+------------+------------+---------+---------------+
          | offset | size | crc  | magic | attributes | key length | key     | value         |
          +--------+------+------+-------+------------+------------+---------+---------------+
            int64   int32  uint32  int8      int8         int32      K bytes   see below

    size          bytes after the size field
    crc           CRC-32 (zlib) of everything after the crc: it covers neither offset nor size
    magic         version of the format, 0
    attributes    bits 0 to 2: codec of a compressed message, 0 for none
    key length    -1: no key, and no key bytes; 0: an empty key, which is a key
    value         documented dialect: the rest. kafka dialect: int32 length (-1: null), then value

All numbers are big-endian. Decoding gives a `Message`, `NeedMoreBytes` or a `CorruptMessage`. This
module knows no files.

A compressed message holds several messages in its value, and has the offset of the last of them.
kminilog writes none. Its readers refuse one, but find the plain messages after it.

Later formats of Kafka have offset, size and magic at the same places. Format 1 (Kafka 0.10) has a
timestamp after the attributes, and the same crc. Format 2 (Kafka 0.11) is a batch of records; its
crc is a CRC-32C at byte 17, and covers what follows. No key or value of them is read. But they are
whole messages, and nobody may cut them off as rubbish.
Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset (format v0). Kafka's web pages of that time
show another layout, which no 0.8 broker wrote (docs/differences.md).
"""

import re
import struct
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import NamedTuple
from zlib import crc32

from kminilog.errors import NullValueError
from kminilog.format.dialect import Dialect

_BEFORE_KEY = struct.Struct(">qiIbbi")
_OFFSET_AND_SIZE = struct.Struct(">qi")
_AFTER_CRC = struct.Struct(">bbi")
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
_BATCH = struct.Struct(">IHi")  # format 2, from byte 17 on: crc, attributes, last offset delta
_BATCH_CRC_AT = 17
SIZE_END = _OFFSET_AND_SIZE.size  # 12: offset and size, which `header` makes; Kafka: LogOverhead
CRC_END = SIZE_END + 4  # 16: with the crc; a walk from message to message reads these
KEY_START = _BEFORE_KEY.size  # 22: all fields of fixed length
MIN_SIZE = KEY_START - SIZE_END  # no key, no value, no value length
MAGIC = 0
BATCH_MAGIC = 2
LATER_FORMATS = {1: "a message of Kafka 0.10, format v1", 2: "a batch of Kafka 0.11+, format v2"}
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4"}
MAX_INSIDE = 1 << 30  # more messages than one compressed message of 2 GB can hold

# Where a message may begin: its size is MIN_SIZE or more. And either magic 0, attributes with a
# known codec only, key length -1 or more; or an offset below 2**40, of whatever format.
_BEGINNING = re.compile(
    rb"(?=.{8}(?!\x00\x00\x00[\x00-\x09])[\x00-\x7f])"
    rb"(?=.{16}\x00[\x00-\x03](?:\xff\xff\xff\xff|[\x00-\x7f]...)|\x00\x00\x00.{19})",
    re.DOTALL,
)


class Fault(StrEnum):
    """Why bytes are no message; the values are classes of findings of `verify`."""

    BAD_LENGTH = "bad-length"
    BAD_MAGIC = "bad-magic"
    BAD_CRC = "bad-crc"


class Message(NamedTuple):
    """A decoded message; `size`, `crc`, `magic` and `attributes` are as they were read."""

    offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    key: bytes | None
    value: bytes | None

    @property
    def length_bytes(self) -> int:
        """Bytes from the offset field to the end of the message."""
        return SIZE_END + self.size

    @property
    def is_compressed(self) -> bool:
        """Whether the value is a compressed set of messages; kminilog itself writes none."""
        return self.attributes & 7 != 0

    @property
    def codec(self) -> str:
        """The codec that the attributes name; "none" for a plain message."""
        return CODECS.get(self.attributes & 7, "unknown")


class NeedMoreBytes(NamedTuple):
    """The bytes end inside a message; decoding goes on with `needed_bytes` from its start.

    These are the first 12, which hold the size, or the whole message.
    """

    needed_bytes: int


class CorruptMessage(NamedTuple):
    """Bytes that are no message; more bytes would not help.

    `length_bytes` is the message's length by its size field, which may be wrong.
    """

    fault: Fault
    detail: str
    offset: int
    length_bytes: int


Outcome = Message | NeedMoreBytes | CorruptMessage
KeyValue = tuple[bytes | None, bytes | None]


def encode(
    dialect: Dialect, offset: int, key: bytes | None, value: bytes | None, *, attributes: int = 0
) -> bytes:
    """Return the bytes of one message: offset and size, crc, content. O(length).

    Raises NullValueError for a null value in the documented dialect.

    >>> from kminilog.format.dialect import DOCUMENTED, KAFKA
    >>> encode(DOCUMENTED, 1, b"key", b"value").hex()
    '0000000000000001000000124b41698d0000000000036b657976616c7565'
    >>> encode(KAFKA, 1, b"key", b"value").hex()
    '0000000000000001000000162356c1370000000000036b65790000000576616c7565'
    """
    after_crc = content(dialect, key, value, attributes=attributes)
    before_crc = header(offset, after_crc)
    return before_crc + _CRC.pack(crc32(after_crc)) + after_crc


def content(
    dialect: Dialect, key: bytes | None, value: bytes | None, *, attributes: int = 0
) -> bytes:
    """Return what the crc covers: magic, attributes, key length and key, and the value. O(length).

    In the kafka dialect the value's length stands in front of it. Raises NullValueError for a null
    value in the documented dialect.

    >>> from kminilog.format.dialect import KAFKA
    >>> content(KAFKA, b"key", None).hex(" ", 1)
    '00 00 00 00 00 03 6b 65 79 ff ff ff ff'
    """
    key_length = -1 if key is None else len(key)
    found = _AFTER_CRC.pack(MAGIC, attributes, key_length) + (key or b"")
    if dialect.has_value_length:
        found += _LENGTH.pack(-1 if value is None else len(value))
    elif value is None:
        raise NullValueError(dialect.name)
    return found + (value or b"")


def header(offset: int, content: bytes) -> bytes:
    """Return the 12 bytes in front of the crc: the offset, and the size of crc and content. O(1).

    >>> header(1, b"content").hex(" ", -8)
    '0000000000000001 0000000b'
    """
    return _OFFSET_AND_SIZE.pack(offset, 4 + len(content))


def checksum(message: bytes) -> int:
    """Return the CRC-32, unsigned, of what follows the crc field of a whole message. O(length).

    It does not depend on the offset, the size and the crc that the message has.

    >>> from kminilog.format.dialect import DOCUMENTED
    >>> f"{checksum(encode(DOCUMENTED, 1, b'key', b'value')):08x}"
    '4b41698d'
    """
    return crc32(message[CRC_END:])


def encoded_bytes(dialect: Dialect, key: bytes | None, value: bytes | None) -> int:
    """Return the length that `encode` gives a message, without encoding it. O(1).

    >>> from kminilog.format.dialect import KAFKA
    >>> encoded_bytes(KAFKA, b"key", b"value")
    34
    """
    return SIZE_END + dialect.overhead_bytes + len(key or b"") + len(value or b"")


def decode(dialect: Dialect, data: bytes, position: int = 0) -> Outcome:
    """Return what begins at `position`: a message, too few bytes to tell, or damage.

    Does not check the offset: this function does not know which one is expected. O(size), for the
    checksum.

    >>> from kminilog.format.dialect import KAFKA
    >>> data = encode(KAFKA, 7, None, b"hi")
    >>> decode(KAFKA, data).value
    b'hi'
    >>> decode(KAFKA, data[:-1])
    NeedMoreBytes(needed_bytes=28)
    >>> decode(KAFKA, data[:-1] + b"!").fault
    <Fault.BAD_CRC: 'bad-crc'>
    """
    framed = _framed(data, position, dialect.overhead_bytes)
    return _decode_whole(dialect, framed) if isinstance(framed, bytes) else framed


def decode_any(data: bytes, position: int = 0) -> Outcome:
    """Return what begins at `position` as `decode` does, whatever the format and the dialect.

    In all formats a message is *whole* if there are as many bytes as its size says, and its crc is
    right. The formats differ in where key and value are: both are None in the result. A batch has
    the offset of its last record. O(size).

    >>> from kminilog.format.dialect import KAFKA
    >>> found = decode_any(encode(KAFKA, 7, None, b"hi"))
    >>> found.offset, found.value
    (7, None)
    """
    framed = _framed(data, position, MIN_SIZE)
    if not isinstance(framed, bytes):
        return framed
    offset, size, crc, magic, attributes, _ = _BEFORE_KEY.unpack_from(framed)
    if magic == BATCH_MAGIC and len(framed) >= _BATCH_CRC_AT + _BATCH.size:
        crc, attributes, last_offset_delta = _BATCH.unpack_from(framed, _BATCH_CRC_AT)
        offset += last_offset_delta
        actual_crc = _crc32c(framed[_BATCH_CRC_AT + _CRC.size :])
    else:
        actual_crc = checksum(framed)
    if actual_crc != crc:
        detail = f"crc is {crc:08x}, the bytes give {actual_crc:08x}"
        return CorruptMessage(Fault.BAD_CRC, detail, offset, len(framed))
    return Message(offset, size, crc, magic, attributes, None, None)


def _framed(
    data: bytes, position: int, smallest_size: int
) -> bytes | NeedMoreBytes | CorruptMessage:
    """Return the bytes that the size field says, if it is possible and all are there."""
    available_bytes = len(data) - position
    if available_bytes < SIZE_END:
        return NeedMoreBytes(SIZE_END)
    offset, size = _OFFSET_AND_SIZE.unpack_from(data, position)
    length_bytes = SIZE_END + size
    if size < smallest_size:
        detail = f"size {size} is below the smallest, {smallest_size}"
        return CorruptMessage(Fault.BAD_LENGTH, detail, offset, length_bytes)
    if available_bytes < length_bytes:
        return NeedMoreBytes(length_bytes)
    return bytes(data[position : position + length_bytes])


def _decode_whole(dialect: Dialect, data: bytes) -> Message | CorruptMessage:
    """Decode exactly as many bytes as the size field says."""
    offset, size, crc, magic, attributes, key_length = _BEFORE_KEY.unpack_from(data)
    end = len(data)
    if magic != MAGIC:
        detail = f"magic {magic} is not {MAGIC}"
        if isinstance(decode_any(data), Message):
            detail += f", but the crc is right: {LATER_FORMATS.get(magic, 'an unknown format')}"
        return CorruptMessage(Fault.BAD_MAGIC, detail, offset, end)
    key_end = KEY_START + key_length if key_length > 0 else KEY_START
    value_start = key_end + _LENGTH.size if dialect.has_value_length else key_end
    value_length = end - value_start
    is_valid = key_length >= -1 and value_length >= 0
    if is_valid and dialect.has_value_length:
        (value_length,) = _LENGTH.unpack_from(data, key_end)
        is_valid = value_length == end - value_start or (value_length == -1 and value_start == end)
    if not is_valid:
        detail = f"key length {key_length}, but size {size}"
        if dialect.has_value_length and key_length >= -1 and value_start <= end:  # it was read
            detail = f"key length {key_length} and value length {value_length}, but size {size}"
        return CorruptMessage(Fault.BAD_LENGTH, detail, offset, end)
    actual_crc = checksum(data)
    if actual_crc != crc:
        detail = f"crc is {crc:08x}, the bytes give {actual_crc:08x}"
        return CorruptMessage(Fault.BAD_CRC, detail, offset, end)
    key = data[KEY_START:key_end] if key_length >= 0 else None
    value = data[value_start:] if value_length >= 0 else None
    return Message(offset, size, crc, magic, attributes, key, value)


def scan(dialect: Dialect, data: bytes, position: int = 0) -> Iterator[tuple[int, Outcome]]:
    """Yield position and outcome of each message; stop after the first that is no `Message`.

    >>> from kminilog.format.dialect import KAFKA
    >>> data = encode(KAFKA, 0, None, b"a") + encode(KAFKA, 1, None, b"b")
    >>> [(position, type(outcome).__name__) for position, outcome in scan(KAFKA, data[:-1])]
    [(0, 'Message'), (27, 'NeedMoreBytes')]
    """
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.length_bytes


def is_next_message(message: Message, next_offset: int) -> bool:
    """Tell if this message may come where the log expects `next_offset`.

    A plain message must have that offset. A compressed one has the offset of the last message
    inside it, so that offset may be greater, by less than `MAX_INSIDE`.

    >>> plain = Message(7, 0, 0, 0, 0, None, b"")
    >>> is_next_message(plain, 7), is_next_message(plain, 6)
    (True, False)
    >>> is_next_message(plain._replace(attributes=1), 6)
    True
    """
    if message.offset == next_offset:
        return True
    return message.is_compressed and 0 < message.offset - next_offset < MAX_INSIDE


def possible_beginnings(data: bytes) -> Iterator[int]:
    """Yield, ascending, the positions where the next 22 bytes could be the start of a message.

    This finds messages after damage. The start of each message with a known codec, or with an
    offset below 2**40, is among them; others may be. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> 7 in possible_beginnings(b"rubbish" + encode(KAFKA, 5, b"k", b"v"))
    True
    """
    return (match.start() for match in _BEGINNING.finditer(data))


@cache
def _castagnoli_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


def _crc32c(data: bytes) -> int:
    """Return the CRC-32C; about 10 MB a second, which is enough for a few batches after damage."""
    table, crc = _castagnoli_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
