"""Later formats of Kafka: is this a whole message of one of them? And where may a message begin?

They have offset, size and magic at the same places as format 0 (`format.message`).

    format 1, Kafka 0.10    a timestamp after the attributes; the same crc
    format 2, Kafka 0.11    a batch of records; its crc is a CRC-32C at byte 17, of what follows it

No key or value of them is read. But they are whole messages, and nobody may cut them off as
rubbish.
Source: Kafka: Record, RecordBatch.
"""

import re
import struct
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple
from zlib import crc32

BATCH_MAGIC = 2
LATER_FORMATS = {1: "a message of Kafka 0.10, format v1", 2: "a batch of Kafka 0.11+, format v2"}

_MESSAGE = struct.Struct(">qiIbb")  # offset, size, crc, magic, attributes
_BATCH = struct.Struct(">IHi")  # from byte 17 on: crc, attributes, last offset delta
_CRC_END = 16
_BATCH_CRC_AT, _BATCH_CRC_END = 17, 21

_BEGINNING = re.compile(
    rb"""
    (?=                                      # In all formats
        .{8}                                 # the offset
        (?!\x00\x00\x00[\x00-\x09])          # stands before a size of 10 or more
        [\x00-\x7f]                          # that is not negative.
    )
    (?=                                      # In format 0
        .{16}\x00                            # the magic is 0,
        [\x00-\x03]                          # the attributes name a known codec, and
        (?:\xff\xff\xff\xff|[\x00-\x7f]...)  # the key length is -1 or more.
    |
        \x00\x00\x00.{19}                    # Or the offset is below 2**40, in whatever format.
    )
    """,
    re.DOTALL | re.VERBOSE,
)


class AnyFormat(NamedTuple):
    """The fields that messages of all formats have; of a batch, the offset of its last record."""

    offset: int
    magic: int
    attributes: int
    crc: int
    actual_crc: int


def fields_of(data: bytes) -> AnyFormat:
    """Return the fields of as many bytes as the size field says, and the crc that they give.

    They are a *whole* message if both crcs are equal. O(size).
    """
    offset, _, crc, magic, attributes = _MESSAGE.unpack_from(data)
    if magic != BATCH_MAGIC or len(data) < _BATCH_CRC_AT + _BATCH.size:
        return AnyFormat(offset, magic, attributes, crc, crc32(data[_CRC_END:]))
    crc, attributes, last_offset_delta = _BATCH.unpack_from(data, _BATCH_CRC_AT)
    actual_crc = crc32c(data[_BATCH_CRC_END:])
    return AnyFormat(offset + last_offset_delta, magic, attributes, crc, actual_crc)


def format_name(data: bytes) -> str | None:
    """Return the name of the later format that a whole message has; None if its crc is wrong."""
    found = fields_of(data)
    if found.crc != found.actual_crc:
        return None
    return LATER_FORMATS.get(found.magic, "an unknown format")


def possible_beginnings(data: bytes) -> Iterator[int]:
    """Yield, ascending, the positions where the next 22 bytes could be the start of a message.

    This finds messages after damage. The start of each message with a known codec, or with an
    offset below 2**40, is among them; others may be. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
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


def crc32c(data: bytes) -> int:
    """Return the CRC-32C; about 10 MB a second, which is enough for a few batches after damage.

    >>> f"{crc32c(b'123456789'):08x}"
    'e3069283'
    """
    table, crc = _castagnoli_table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF
