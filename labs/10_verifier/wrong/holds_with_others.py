# exercise: 1
# reason: counts-others
def holds(counts):
    left = ("source", "extra", "duplicate")
    right = [name for name in counts if name not in (*left, "altered")]
    return sum(counts[name] for name in left) == sum(counts[name] for name in right)
