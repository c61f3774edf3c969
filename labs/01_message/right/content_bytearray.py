# exercise: 3
# differs: a bytearray that grows, and is the result; the error's argument is free.
from kminilog.errors import NullValueError


def content(dialect, key, value, *, attributes=0):
    data = bytearray([0, attributes])
    for part, has_length in ((key, True), (value, dialect.has_value_length)):
        if not has_length and part is None:
            raise NullValueError("a null value has no place in this dialect")
        if has_length:
            length = -1 if part is None else len(part)
            data += length.to_bytes(4, "big", signed=True)
        data += part or b""
    return data
