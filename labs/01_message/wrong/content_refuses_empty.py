# exercise: 3
# reason: empty-value-as-null
from struct import pack

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    data = pack(">bbi", 0, attributes, -1 if key is None else len(key)) + (key or b"")
    if dialect.has_value_length:
        return data + pack(">i", -1 if value is None else len(value)) + (value or b"")
    if not value:
        raise NullValueError(dialect.name)
    return data + value
