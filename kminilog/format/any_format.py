"""A message of whatever format: the fields that all formats have, and where one may begin.

Every format of Kafka has offset, size, magic and attributes at the places of format 0, and most
have the same crc there (`format.message`). So what is a whole message can be told without reading a
key or value. This module knows the fields of no format; `storage.segment.whole_messages` asks for
them. Source: Kafka: Record.
"""

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

_MESSAGE = struct.Struct(">qiIbb")  # offset, size, crc, magic, attributes
_CRC_END = 16
MAGIC_AT = 16

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
    """The fields that messages of all formats have, and the crc that their bytes give."""

    offset: int
    magic: int
    attributes: int
    crc: int
    actual_crc: int


def fields_of(data: bytes) -> AnyFormat:
    """Return the fields of as many bytes as the size field says; the crc is that of format 0.

    They are a *whole* message if both crcs are equal. O(size).
    """
    offset, _, crc, magic, attributes = _MESSAGE.unpack_from(data)
    return AnyFormat(offset, magic, attributes, crc, crc32(data[_CRC_END:]))


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
