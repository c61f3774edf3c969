# exercise: 5
# reason: end-unsaid
from kminilog.format.message import Message


def scan(dialect, data, position=0):
    while isinstance(outcome := decode(dialect, data, position), Message):
        yield position, outcome
        position += outcome.length_bytes
