# exercise: 6
# reason: sends-to-old-leader
def after_error(code):
    if code in (3, 5, 6):
        return "send it again"
    known = {0: "go on", 1: "ask for the offsets", 7: "send it again"}
    return known.get(code, "give up")
