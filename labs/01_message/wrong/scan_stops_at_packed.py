# exercise: 5
# reason: stops-at-packed
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message) or outcome.codec != "none":
            return
        position += outcome.length_bytes
