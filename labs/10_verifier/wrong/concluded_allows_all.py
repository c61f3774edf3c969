# exercise: 4
# reason: allows-all-with-one
def concluded(found, allowed, unchecked):
    if list(found) and not set(found) & set(allowed):
        return "findings", 1
    return ("partial", 2) if any(one.asked for one in unchecked) else ("ok", 0)
