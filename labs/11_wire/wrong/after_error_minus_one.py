# exercise: 6
# reason: minus-one-is-done
def after_error(code):
    if code <= 0:
        return "go on"
    if code in (3, 5, 6):
        return "ask for the leader"
    return {1: "ask for the offsets", 7: "send it again"}.get(code, "give up")
