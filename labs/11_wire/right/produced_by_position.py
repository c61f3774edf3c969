# exercise: 3
# differs: the course's own, because the library's has a table of fields: a position moves on
from struct import unpack_from


def produced(answer):
    """Return (topic, partition, error, base offset) of each partition in an answer to Produce v0.

    `answer` begins with the correlation id; the size in front of it was read already.

    >>> produced(bytes.fromhex("00000007 00000001 0001 74 00000001 00000002 0003") + b"\\xff" * 8)
    [('t', 2, 3, -1)]
    """
    found = []
    (topics,) = unpack_from(">i", answer, 4)
    at = 8
    for _ in range(topics):
        (length,) = unpack_from(">h", answer, at)
        topic = answer[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (partitions,) = unpack_from(">i", answer, at)
        at += 4
        for _ in range(partitions):
            found.append((topic, *unpack_from(">ihq", answer, at)))
            at += 14
    return found
