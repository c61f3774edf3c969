# exercise: 2
# reason: partition-signed-mod


def to_positive(number: int) -> int:
    return number  # % gives no negative number in Python
