# exercise: 1
# reason: multiple-past-end


def runs(partitions: int, members: int) -> list[tuple[int, int]]:
    count = -(-partitions // members)
    return [(number * count, count) for number in range(members)]
