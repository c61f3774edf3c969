# exercise: 5
# reason: positions-from-start
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    data, position = data[position:], 0
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.length_bytes
