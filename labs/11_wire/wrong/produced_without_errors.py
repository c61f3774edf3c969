# exercise: 3
# reason: errors-left-out
from struct import unpack_from


def produced(answer):
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
    return [one for one in found if not one[2]]
