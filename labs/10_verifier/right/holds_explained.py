# exercise: 1
# differs: what is stored is explained, term by term
def holds(counts):
    wanted = counts["source"] - counts["rejected"] - counts["missing"]
    wanted += counts["extra"] + counts["duplicate"]
    return wanted == counts["stored"]
