# exercise: 1
# reason: forgets-duplicate
def holds(counts):
    right = counts["stored"] + counts["rejected"] + counts["missing"]
    return counts["source"] + counts["extra"] == right
