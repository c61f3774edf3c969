# exercise: 1
# reason: wrong-side
def holds(counts):
    left = counts["source"] + counts["extra"]
    return left == counts["stored"] + counts["rejected"] + counts["missing"] + counts["duplicate"]
