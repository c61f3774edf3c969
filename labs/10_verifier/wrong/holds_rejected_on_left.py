# exercise: 1
# reason: wrong-side
def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"] + counts["rejected"]
    return left == counts["stored"] + counts["missing"]
