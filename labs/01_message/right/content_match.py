# exercise: 3
# differs: one case for each kind of value, and struct's own places for bytes.
from struct import pack

from kminilog.errors import NullValueError
from kminilog.format.dialect import KAFKA


def content(dialect, key, value, *, attributes=0):
    length = -1 if key is None else len(key)
    front = pack(f">bbi{max(length, 0)}s", 0, attributes, length, key or b"")
    match dialect == KAFKA, value:
        case True, None:
            return front + b"\xff\xff\xff\xff"
        case True, _:
            return front + pack(f">i{len(value)}s", len(value), value)
        case False, None:
            raise NullValueError(dialect.name)
    return b"".join((front, value))
