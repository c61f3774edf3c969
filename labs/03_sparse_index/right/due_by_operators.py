# exercise: 2
# differs: functions in place of operators, and two returns.
from operator import le, sub


def is_due(position, last_indexed_position, interval_bytes):
    if le(sub(position, last_indexed_position), interval_bytes):
        return False
    return True
