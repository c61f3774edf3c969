# exercise: 3
# differs: a function that calls itself on all events but the last one
def may_commit(events):
    if not events:
        return []
    *before, (what, task, attempt) = events
    pairs = may_commit(before)
    one = (task, attempt)
    if what == "fails":
        return [pair for pair in pairs if pair != one]
    is_taken = any(each[0] == task for each in pairs)
    if is_taken or ("fails", task, attempt) in before:
        return pairs
    return sorted([*pairs, one])
