# exercise: 5
# reason: recursion-per-message
def scan(dialect, data, position=0):
    if position < len(data):
        outcome = decode(dialect, data, position)
        yield position, outcome
        if hasattr(outcome, "value"):
            yield from scan(dialect, data, position + 12 + outcome.size)
