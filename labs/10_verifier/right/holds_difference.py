# exercise: 1
# differs: one difference, which must be 0
def holds(counts):
    signs = {"source": 1, "extra": 1, "duplicate": 1, "stored": -1, "rejected": -1, "missing": -1}
    return not sum(sign * counts[name] for name, sign in signs.items())
