# exercise: 4
# reason: allows-each-once
def concluded(found, allowed, unchecked):
    left = list(allowed)
    for each in found:
        if each not in left:
            return "findings", 1
        left.remove(each)
    return ("partial", 2) if any(one.asked for one in unchecked) else ("ok", 0)
