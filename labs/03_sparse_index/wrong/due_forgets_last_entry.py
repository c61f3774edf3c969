# exercise: 2
# reason: forgets-last-entry


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    return position > interval_bytes
