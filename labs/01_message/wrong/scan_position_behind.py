# exercise: 5
# reason: position-behind
from kminilog.format.message import NeedMoreBytes


def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        if isinstance(outcome, NeedMoreBytes):
            yield position, outcome
            return
        position += outcome.length_bytes
        yield position, outcome
