# exercise: 4
# reason: partial-unless-all
def concluded(found, allowed, unchecked):
    if set(found) - set(allowed):
        return "findings", 1
    return ("partial", 2) if list(unchecked) else ("ok", 0)
