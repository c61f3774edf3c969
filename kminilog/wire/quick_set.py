"""A message set of format v0 in one go: what clients of Kafka 0.8 send, as fast as Python can.

`record_sets` decodes all formats, by `broker_files.entries`, and says what is wrong. This module
knows one of them, and says nothing: whatever is not a whole plain message of v0 with a right
checksum makes it give up. Source: ours; the format: `broker_files.message_set`.
"""

import struct
from zlib import crc32

from kminilog.format.message import CRC_END, SIZE_END, KeyValue

_HEAD = struct.Struct(">qiIbbi")  # offset, size, crc, magic, attributes, key length
_LENGTH = struct.Struct(">i")


def quick_messages(data: bytes) -> list[KeyValue] | None:
    """Return key and value of each message; None if one is not plain, whole and right. O(bytes).

    >>> from kminilog.format.dialect import KAFKA
    >>> from kminilog.format.message import encode
    >>> quick_messages(encode(KAFKA, 0, None, b"a") + encode(KAFKA, 0, b"k", None))
    [(None, b'a'), (b'k', None)]
    >>> quick_messages(encode(KAFKA, 0, None, b"a")[:-1]) is None
    True
    """
    messages: list[KeyValue] = []
    position, length = 0, len(data)
    while position < length:
        if length - position < _HEAD.size + _LENGTH.size:
            return None
        _, size, crc, magic, attributes, key_length = _HEAD.unpack_from(data, position)
        end = position + SIZE_END + size
        key_start = position + _HEAD.size
        value_at = key_start + max(key_length, 0)
        if magic or attributes or end > length or value_at + _LENGTH.size > end:
            return None
        (value_length,) = _LENGTH.unpack_from(data, value_at)
        value_start = value_at + _LENGTH.size
        if value_start + max(value_length, 0) != end:
            return None
        if crc32(data[position + CRC_END : end]) != crc:
            return None
        key = data[key_start:value_at] if key_length >= 0 else None
        messages.append((key, data[value_start:end] if value_length >= 0 else None))
        position = end
    return messages
