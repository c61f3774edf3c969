"""A message set of format v0 for a `kafka` topic, in one go: what clients of Kafka 0.8 send.

Its bytes are those that the `.log` gets, but for the offsets: only the broker knows these, and no
checksum covers them. So they are checked and get their offsets, and are neither decoded nor
encoded; a broker of 0.8 does the same. `record_sets` knows all formats, and says what is wrong.
This module says nothing: whatever is not a whole plain message of v0 with a right checksum makes it
give up. Source: Kafka 0.8.2: ByteBufferMessageSet.assignOffsets.
"""

import struct
from zlib import crc32

from kminilog.format.message import CRC_END, KEY_START, SIZE_END

_HEAD = struct.Struct(">qiIbbi")  # offset, size, crc, magic, attributes, key length
_LENGTH = struct.Struct(">i")
_SMALLEST = KEY_START + _LENGTH.size
_OFFSET_BYTES = 8


def renumbered(data: bytes, first_offset: int) -> list[bytes] | None:
    """Return the messages of a set, with the offsets from `first_offset` on. O(bytes).

    None if one of them is not plain, whole and right.

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> sent = encode(KAFKA, 0, None, b"a") + encode(KAFKA, 1, b"k", None)
    >>> renumbered(sent, 7) == [encode(KAFKA, 7, None, b"a"), encode(KAFKA, 8, b"k", None)]
    True
    >>> renumbered(sent[:-1], 7) is None
    True
    """
    found: list[bytes] = []
    position, end_of_all, offset = 0, len(data), first_offset
    while position < end_of_all:
        if end_of_all - position < _SMALLEST:
            return None
        _, size, crc, magic, attributes, key_length = _HEAD.unpack_from(data, position)
        end = position + SIZE_END + size
        value_at = position + KEY_START + (key_length if key_length > 0 else 0)
        if magic or attributes or key_length < -1:
            return None
        if end > end_of_all or value_at + _LENGTH.size > end:
            return None
        (value_length,) = _LENGTH.unpack_from(data, value_at)
        value_end = value_at + _LENGTH.size + (value_length if value_length > 0 else 0)
        if value_end != end or value_length < -1:
            return None
        if crc32(data[position + CRC_END : end]) != crc:
            return None
        found.append(offset.to_bytes(_OFFSET_BYTES) + data[position + _OFFSET_BYTES : end])
        offset += 1
        position = end
    return found
