# exercise: 2
# reason: indexes-first-message


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    return position == 0 or position - last_indexed_position > interval_bytes
