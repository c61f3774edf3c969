# exercise: 6
# reason: sends-all-again
def after_error(code):
    if code in (3, 5, 6):
        return "ask for the leader"
    known = {0: "go on", 1: "ask for the offsets", 7: "send it again"}
    return known.get(code, "send it again")
