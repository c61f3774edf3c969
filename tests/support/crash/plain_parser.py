"""What stands in the files of a partition, by the documented byte layout alone.

    offset int64 | size int32 | crc uint32 | magic int8 | attributes int8 | key length int32 | key
    documented: value to the end           kafka: value length int32 (-1: null) | value

Nothing of kminilog is imported here.
"""

import struct
import zlib
from pathlib import Path

_HEADER = struct.Struct(">qiIbbi")
_LENGTH = struct.Struct(">i")
KeyValue = tuple[bytes | None, bytes | None]


def messages_in(directory: Path, *, has_value_length: bool) -> list[KeyValue]:
    """Return keys and values of a partition; assert that its files are whole and its offsets are
    0, 1, 2, ..."""
    found: list[KeyValue] = []
    for path in sorted(directory.glob("*.log")):
        data, position = path.read_bytes(), 0
        while position < len(data):
            offset, size, crc, magic, attributes, key_length = _HEADER.unpack_from(data, position)
            assert (offset, magic, attributes) == (len(found), 0, 0), (path, position)
            start, end = position + _HEADER.size, position + 12 + size
            assert end <= len(data), (path, position)
            assert zlib.crc32(data[position + 16 : end]) == crc, (path, position)
            key = None if key_length < 0 else data[start : start + key_length]
            start += max(key_length, 0)
            value: bytes | None = data[start:end]
            if has_value_length:
                (value_length,) = _LENGTH.unpack_from(data, start)
                value = None if value_length < 0 else data[start + _LENGTH.size : end]
                assert len(value or b"") == max(value_length, 0), (path, position)
            found.append((key, value))
            position = end
    return found
