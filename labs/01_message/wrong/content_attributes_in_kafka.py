# exercise: 3
# reason: attributes-ignored
from struct import pack

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    data = b"" if key is None else key
    length = pack(">i", -1 if key is None else len(key))
    if dialect.has_value_length:
        value_length = pack(">i", -1 if value is None else len(value))
        return bytes([0, attributes]) + length + data + value_length + (value or b"")
    if value is None:
        raise NullValueError(dialect.name)
    return bytes(2) + length + data + value
