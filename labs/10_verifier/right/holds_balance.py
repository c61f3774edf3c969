# exercise: 1
# differs: a balance that each side is booked on
from collections import Counter


def holds(counts):
    balance = Counter()
    for names, side in (
        (("source", "extra", "duplicate"), 0),
        (("stored", "rejected", "missing"), 1),
    ):
        for name in names:
            balance[side] += counts[name]
    return balance[0] == balance[1]
