# exercise: 6
# differs: a match
def after_error(code):
    match code:
        case 0:
            return "go on"
        case 1:
            return "ask for the offsets"
        case 3 | 5 | 6:
            return "ask for the leader"
        case 7:
            return "send it again"
    return "give up"
