# exercise: 4
# differs: the library's table of fields, and its decoder message by message
from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, decode
from kminilog.wire import schemas


def fetched(answer, offset):
    read, _ = schemas.decode("FetchResponse", 0, answer, 4)
    (one,) = read["responses"][0]["partitions"]
    if one["error_code"] != 0:
        raise ValueError(one["error_code"])
    found, at = [], 0
    while isinstance(message := decode(KAFKA, one["records"], at), Message):
        at += 12 + message.size
        found.append((message.offset, message.key, message.value))
        offset = message.offset + 1
    return found, offset
