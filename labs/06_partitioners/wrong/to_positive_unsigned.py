# exercise: 2
# reason: partition-unsigned


def to_positive(number: int) -> int:
    return number & 0xFFFFFFFF
