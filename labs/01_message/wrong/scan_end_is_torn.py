# exercise: 5
# reason: end-is-no-outcome
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    while True:
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.length_bytes
