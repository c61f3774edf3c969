# exercise: 5
# reason: scans-past-damage
from kminilog.format.message import Fault, Message


def scan(dialect, data, position=0):
    while position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if not isinstance(outcome, Message) and getattr(outcome, "fault", 0) != Fault.BAD_LENGTH:
            return
        position += outcome.length_bytes
