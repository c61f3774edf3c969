# exercise: 5
# reason: steps-by-size
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.size
