# exercise: 4
# differs: reads the messages with struct, as long as all of their bytes are there
from struct import unpack_from


def fetched(answer, offset):
    at = 18 + int.from_bytes(answer[8:10])
    if any(answer[at : at + 2]):
        raise ValueError
    at, messages = at + 14, []
    while at + 12 <= len(answer):
        number, size = unpack_from(">qi", answer, at)
        end = at + 12 + size
        if end > len(answer):
            break
        parts, at = [], at + 18
        for _ in "kv":
            (length,) = unpack_from(">i", answer, at)
            parts.append(None if length < 0 else answer[at + 4 : at + 4 + length])
            at += 4 + max(length, 0)
        messages.append((number, *parts))
        offset = number + 1
    return messages, offset
