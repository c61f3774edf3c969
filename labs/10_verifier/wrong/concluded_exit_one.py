# exercise: 4
# reason: exit-one-for-all
def concluded(found, allowed, unchecked):
    if set(found) - set(allowed):
        return "findings", 1
    return ("partial", 1) if any(one.asked for one in unchecked) else ("ok", 0)
