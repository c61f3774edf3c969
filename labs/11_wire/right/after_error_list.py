# exercise: 6
# differs: a list with a place for each code
GIVE_UP, LEADER = "give up", "ask for the leader"
STEPS = ["go on", "ask for the offsets", GIVE_UP, LEADER, GIVE_UP, LEADER, LEADER, "send it again"]


def after_error(code):
    return STEPS[code] if 0 <= code < len(STEPS) else GIVE_UP
