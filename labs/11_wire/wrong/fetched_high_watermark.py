# exercise: 4
# reason: next-is-high-watermark
from struct import unpack_from

from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, scan


def fetched(answer, offset):
    (length,) = unpack_from(">h", answer, 8)
    at = 10 + length + 4
    _, error, end, size = unpack_from(">ihqi", answer, at)
    if error:
        raise ValueError(f"error {error}")
    data = answer[at + 18 : at + 18 + size]
    whole = [one for _, one in scan(KAFKA, data) if isinstance(one, Message)]
    messages = [(one.offset, one.key, one.value) for one in whole]
    return messages, end
