# exercise: 3
# reason: pairs-both-ways
def partners(groups, is_record):
    waiting, found = {}, [-1] * len(groups)
    for place, group in enumerate(groups):
        if is_record[place]:
            waiting.setdefault(group, []).append(place)
        elif waiting.get(group):
            record = waiting[group].pop(0)
            found[record], found[place] = place, record
    return found
