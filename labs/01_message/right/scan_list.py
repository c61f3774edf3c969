# exercise: 5
# differs: collects all pairs in a list before it gives them out.
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    found = []
    while position < len(data):
        found.append((position, decode(dialect, data, position)))
        if not isinstance(found[-1][1], Message):
            break
        position += found[-1][1].length_bytes
    return found
