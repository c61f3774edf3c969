# exercise: 2
# reason: index-every-message


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    return True
