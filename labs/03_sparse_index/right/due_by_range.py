# exercise: 2
# differs: the bytes that are too near are a range.


def is_due(position, last_indexed_position, interval_bytes):
    near = range(last_indexed_position, last_indexed_position + interval_bytes + 1)
    return position not in near
