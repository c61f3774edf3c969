# exercise: 2
# reason: negative-to-zero


def to_positive(number: int) -> int:
    return max(number, 0)
