# exercise: 5
# reason: copies-the-rest
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    rest = data[position:]
    while rest:
        outcome = decode(dialect, rest)
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.length_bytes
        rest = rest[outcome.length_bytes :]
