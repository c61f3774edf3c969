# exercise: 3
# reason: null-key-as-empty
import struct


def content(dialect, key, value, *, attributes=0):
    key, value = key or b"", value or b""
    data = struct.pack(">bbi", 0, attributes, len(key)) + key
    if dialect.has_value_length:
        data += struct.pack(">i", len(value))
    return data + value
