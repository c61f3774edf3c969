# exercise: 5
# reason: stops-at-gap
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    next_offset = None
    while position < len(data):
        outcome = decode(dialect, data, position)
        if isinstance(outcome, Message) and outcome.offset != (next_offset or outcome.offset):
            return
        yield position, outcome
        if not isinstance(outcome, Message):
            return
        position += outcome.length_bytes
        next_offset = outcome.offset + 1
