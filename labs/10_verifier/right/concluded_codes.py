# exercise: 4
# differs: the exit code first, then its name
def concluded(found, allowed, unchecked):
    left = [kind for kind in found if kind not in list(allowed)]
    code = 1 if left else 2 * bool(sum(bool(one.asked) for one in unchecked))
    return ("ok", "findings", "partial")[code], code
