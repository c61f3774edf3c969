# exercise: 1
# reason: one-direction
def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    return left <= counts["stored"] + counts["rejected"] + counts["missing"]
