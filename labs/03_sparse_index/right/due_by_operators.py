# exercise: 2
# differs: functions in place of operators.
from operator import le, sub


def is_due(position, last_indexed_position, interval_bytes):
    return not le(sub(position, last_indexed_position), interval_bytes)
