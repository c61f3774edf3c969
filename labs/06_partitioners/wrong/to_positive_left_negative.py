# exercise: 2
# reason: sign-bit-stays


def to_positive(number: int) -> int:
    return number  # % gives no negative number in Python
