# exercise: 3
# reason: refuses-every-null
from struct import pack

from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    if value is None:
        raise NullValueError(dialect.name)
    data = pack(">bbi", 0, attributes, -1 if key is None else len(key)) + (key or b"")
    return data + (pack(">i", len(value)) if dialect.has_value_length else b"") + value
