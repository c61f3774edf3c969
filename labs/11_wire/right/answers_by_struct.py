# exercise: 5
# differs: struct, a position, and an iterator over those that wait
from struct import unpack_from


def answers(data, waiting):
    at, found, expected = 0, [], iter(waiting)
    while at + 8 <= len(data):
        size, number = unpack_from(">ii", data, at)
        if at + 4 + size > len(data):
            return found, data[at:]
        if next(expected, None) != number:
            raise ValueError("another answer")
        found.append((number, data[at + 8 : at + 4 + size]))
        at += 4 + size
    return found, data[at:]
