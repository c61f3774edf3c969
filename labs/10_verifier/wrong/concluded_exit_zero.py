# exercise: 4
# reason: exit-zero
def concluded(found, allowed, unchecked):
    if set(found) - set(allowed):
        return "findings", 0
    return ("partial" if any(one.asked for one in unchecked) else "ok"), 0
