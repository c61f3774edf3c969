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

Source: S1 5.2; Kafka 0.8.2: Message, MessageAndOffset (format v0). Kafka's web pages of that time
show another layout, which no 0.8 broker wrote (docs/differences.md).
"""

import struct
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple
from zlib import crc32

from kminilog.errors import NullValueError
from kminilog.format.dialect import Dialect

_BEFORE_KEY = struct.Struct(">qiIbbi")
_OFFSET_AND_SIZE = struct.Struct(">qi")
_AFTER_CRC = struct.Struct(">bbi")
_LENGTH = struct.Struct(">i")
_CRC = struct.Struct(">I")
SIZE_END = _OFFSET_AND_SIZE.size  # 12: offset and size, which `header` makes; Kafka: LogOverhead
CRC_END = SIZE_END + 4  # 16: with the crc; a walk from message to message reads these
KEY_START = _BEFORE_KEY.size  # 22: all fields of fixed length
MIN_SIZE = KEY_START - SIZE_END  # no key, no value, no value length
MAGIC = 0
CODECS = {0: "none", 1: "gzip", 2: "snappy", 3: "lz4"}
MAX_INSIDE = 1 << 30  # of a compressed message: far more than the 83 million that fit into 2 GB


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
    """The bytes end inside a message. `needed_bytes` counts from the start of this message.

    It is 12 if the size field is not there yet; otherwise it is the length of the message.
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
    encoded = _AFTER_CRC.pack(MAGIC, attributes, key_length) + (key or b"")
    if dialect.has_value_length:
        encoded += _LENGTH.pack(-1 if value is None else len(value))
    elif value is None:
        raise NullValueError(dialect.name)
    return encoded + (value or b"")


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
    frame = framed(data, position, dialect.overhead_bytes)
    if not isinstance(frame, bytes):
        return frame
    offset, size, crc, magic, attributes, key_length = _BEFORE_KEY.unpack_from(frame)
    end = len(frame)
    if magic != MAGIC:
        return CorruptMessage(Fault.BAD_MAGIC, f"magic {magic} is not {MAGIC}", offset, end)
    key_end = KEY_START + key_length if key_length > 0 else KEY_START
    value_start = key_end + _LENGTH.size if dialect.has_value_length else key_end
    value_length = rest = end - value_start  # in the documented dialect the value is the rest
    if key_length < -1 or rest < 0:
        detail = f"key length {key_length}, but size {size}"
        return CorruptMessage(Fault.BAD_LENGTH, detail, offset, end)
    if dialect.has_value_length:
        (value_length,) = _LENGTH.unpack_from(frame, key_end)
        if value_length != rest and (value_length, rest) != (-1, 0):  # -1: null, no bytes follow
            lengths = f"key length {key_length} and value length {value_length}"
            return CorruptMessage(Fault.BAD_LENGTH, f"{lengths}, but size {size}", offset, end)
    actual_crc = checksum(frame)
    if actual_crc != crc:
        detail = f"crc is {crc:08x}, the bytes give {actual_crc:08x}"
        return CorruptMessage(Fault.BAD_CRC, detail, offset, end)
    key = frame[KEY_START:key_end] if key_length >= 0 else None
    value = frame[value_start:] if value_length >= 0 else None
    return Message(offset, size, crc, magic, attributes, key, value)


def framed(
    data: bytes, position: int, smallest_size: int
) -> bytes | NeedMoreBytes | CorruptMessage:
    """Return one frame: offset, size, and as many bytes after them as the size says.

    Returns NeedMoreBytes if not all of it is there, and CorruptMessage for a size below
    `smallest_size`. All formats of Kafka begin with offset and size, so a decoder of any format may
    call this.
    """
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
