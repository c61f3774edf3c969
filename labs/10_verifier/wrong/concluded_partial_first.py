# exercise: 4
# reason: partial-hides-findings
def concluded(found, allowed, unchecked):
    if any(one.asked for one in unchecked):
        return "partial", 2
    return ("findings", 1) if set(found) - set(allowed) else ("ok", 0)
