# exercise: 3
# reason: null-as-empty
import struct


def content(dialect, key, value, *, attributes=0):
    length = -1 if key is None else len(key)
    data = struct.pack(">bbi", 0, attributes, length) + (key or b"")
    if dialect.has_value_length:
        value = value or b""
        data += struct.pack(">i", len(value))
    return data + value
