# exercise: 3
# reason: value-length-added
from struct import pack


def content(dialect, key, value, *, attributes=0):
    data = pack(">bbi", 0, attributes, -1 if key is None else len(key)) + (key or b"")
    if dialect.has_value_length or value is None:
        data += pack(">i", -1 if value is None else len(value))
    return data + (value or b"")
