# exercise: 1
# differs: deals the partitions one by one to find the counts, and sums them up
from itertools import accumulate


def runs(partitions, members):
    counts = [0] * members
    for number in range(partitions):
        counts[number % members] += 1
    return list(zip(accumulate(counts, initial=0), counts))  # noqa: B905
