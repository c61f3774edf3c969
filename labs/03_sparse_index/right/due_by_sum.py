# exercise: 2
# differs: compares with the first byte that is too near, in place of a distance.


def is_due(position, last_indexed_position, interval_bytes):
    return last_indexed_position + interval_bytes < position
