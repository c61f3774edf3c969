# exercise: 3
# reason: attributes-ignored
from struct import pack

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    if value is None and not dialect.has_value_length:
        raise NullValueError(dialect.name)
    data = pack(">bbi", 0, attributes & 3, -1 if key is None else len(key)) + (key or b"")
    if dialect.has_value_length:
        data += pack(">i", -1 if value is None else len(value))
    return data + (value or b"")
