# exercise: 1
# reason: counts-altered
def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    right = counts["stored"] + counts["rejected"] + counts["missing"]
    return left == right + counts.get("altered", 0)
