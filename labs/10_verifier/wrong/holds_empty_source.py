# exercise: 1
# reason: zero-is-falsy
def holds(counts):
    if not counts["source"]:
        return True
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    return left == counts["stored"] + counts["rejected"] + counts["missing"]
