# exercise: 5
# reason: scans-past-damage
from kminilog.format.message import NeedMoreBytes


def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if isinstance(outcome, NeedMoreBytes):
            return
        position += outcome.length_bytes
