# exercise: 6
# differs: the course's own, because the library has no client: a dict
def after_error(code):
    """Return what a client does next: one of the texts in README.md, 11.6.

    >>> after_error(0)
    'go on'
    """
    if code in (3, 5, 6):
        return "ask for the leader"
    known = {0: "go on", 1: "ask for the offsets", 7: "send it again"}
    return known.get(code, "give up")
