# exercise: 1
# reason: compared-as-objects
def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    right = counts["stored"] + counts["rejected"] + counts["missing"]
    return left is right
