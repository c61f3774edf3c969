# exercise: 4
# reason: next-after-cut
from struct import unpack_from

from kminilog.format.dialect import KAFKA
from kminilog.format.message import Message, scan


def fetched(answer, offset):
    (length,) = unpack_from(">h", answer, 8)
    at = 10 + length + 4
    _, error, _, size = unpack_from(">ihqi", answer, at)
    if error:
        raise ValueError(f"error {error}")
    data = answer[at + 18 : at + 18 + size]
    whole = [one for _, one in scan(KAFKA, data) if isinstance(one, Message)]
    messages = [(one.offset, one.key, one.value) for one in whole]
    read = sum(12 + one.size for one in whole)
    following = messages[-1][0] + 1 if messages else offset
    return messages, following + (read < size)
