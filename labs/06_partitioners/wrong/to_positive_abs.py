# exercise: 2
# reason: partition-abs


def to_positive(number: int) -> int:
    return abs(number)
