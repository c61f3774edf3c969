# exercise: 1
# reason: changes-counts
def holds(counts):
    left = counts.pop("source") + counts.pop("extra") + counts.pop("duplicate")
    return left == counts.pop("stored") + counts.pop("rejected") + counts.pop("missing")
