# exercise: 4
# reason: ok-when-skipped
def concluded(found, allowed, unchecked):
    return ("findings", 1) if set(found) - set(allowed) else ("ok", 0)
