# exercise: 4
# reason: allows-nothing
def concluded(found, allowed, unchecked):
    if list(found):
        return "findings", 1
    return ("partial", 2) if any(one.asked for one in unchecked) else ("ok", 0)
