# exercise: 3
# reason: empty-as-null
import struct

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    data = struct.pack(">bbi", 0, attributes, len(key) if key else -1) + (key or b"")
    if dialect.has_value_length:
        data += struct.pack(">i", -1 if value is None else len(value))
    elif value is None:
        raise NullValueError(dialect.name)
    return data + (value or b"")
