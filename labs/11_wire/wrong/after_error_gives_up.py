# exercise: 6
# reason: gives-up-at-once
def after_error(code):
    return "give up" if code else "go on"
