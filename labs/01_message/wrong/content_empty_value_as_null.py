# exercise: 3
# reason: empty-value-as-null
from struct import pack

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    if value is None and not dialect.has_value_length:
        raise NullValueError(dialect.name)
    data = pack(">bbi", 0, attributes, -1 if key is None else len(key)) + (key or b"")
    if dialect.has_value_length:
        data += pack(">i", len(value) if value else -1)
    return data + (value or b"")
