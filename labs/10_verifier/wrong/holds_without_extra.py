# exercise: 1
# reason: forgets-extra
def holds(counts):
    right = counts["stored"] + counts["rejected"] + counts["missing"]
    return counts["source"] + counts["duplicate"] == right
