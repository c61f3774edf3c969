# exercise: 2
# reason: due-in-each-block


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    return position // interval_bytes > last_indexed_position // interval_bytes
