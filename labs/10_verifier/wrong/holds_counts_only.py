# exercise: 1
# reason: counts-only
def holds(counts):
    return counts["source"] == counts["stored"]
