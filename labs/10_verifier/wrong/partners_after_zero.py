# exercise: 3
# reason: zero-is-falsy
def partners(groups, is_record):
    groups, is_record = list(groups), list(is_record)
    found, waiting, before = [-1] * len(groups), [], None
    for place, group in enumerate(groups):
        if before and group != before:
            waiting = []
        before = group
        if is_record[place]:
            waiting.append(place)
        elif waiting:
            found[waiting.pop(0)] = place
    return found
