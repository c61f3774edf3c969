# exercise: 5
# differs: a pattern tells a message from the rest, and takes its size.
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    end = len(data)
    while position < end:
        match outcome := decode(dialect, data, position):
            case Message(size=size):
                yield position, outcome
                position += 12 + size
            case _:
                yield position, outcome
                end = position
