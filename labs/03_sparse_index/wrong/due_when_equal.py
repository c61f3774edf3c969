# exercise: 2
# reason: due-when-equal


def is_due(position: int, last_indexed_position: int, interval_bytes: int) -> bool:
    return position - last_indexed_position >= interval_bytes
