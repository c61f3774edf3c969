# exercise: 1
# reason: nearly-equal
from math import isclose


def holds(counts):
    left = counts["source"] + counts["extra"] + counts["duplicate"]
    return isclose(left, counts["stored"] + counts["rejected"] + counts["missing"])
