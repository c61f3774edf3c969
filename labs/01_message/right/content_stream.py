# exercise: 3
# differs: writes into a stream, and knows the dialects by their names.
import io
import struct

from kminilog.errors import NullValueError


def write_part(stream, part):
    stream.write(struct.pack("!I", 0xFFFFFFFF if part is None else len(part)))
    stream.write(part or b"")


def content(dialect, key, value, *, attributes=0):
    stream = io.BytesIO()
    stream.write(struct.pack("BB", 0, attributes))
    write_part(stream, key)
    if dialect.name == "kafka":
        write_part(stream, value)
    elif value is None:
        raise NullValueError(dialect=dialect.name)
    else:
        stream.write(value)
    return stream.getvalue()
