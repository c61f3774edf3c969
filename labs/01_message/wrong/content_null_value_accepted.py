# exercise: 3
# reason: null-value-accepted
import struct


def content(dialect, key, value, *, attributes=0):
    length = -1 if key is None else len(key)
    data = struct.pack(">bbi", 0, attributes, length) + (key or b"")
    if dialect.has_value_length:
        data += struct.pack(">i", -1 if value is None else len(value))
    return data + (value or b"")
