# exercise: 1
# reason: forgets-rejected
def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    return left == counts["stored"] + counts["missing"]
