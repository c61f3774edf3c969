# exercise: 4
# differs: loops that return early
def concluded(found, allowed, unchecked):
    for kind in found:
        if kind not in allowed:
            return "findings", 1
    for one in unchecked:
        if one.asked:
            return "partial", 2
    return "ok", 0
