# exercise: 3
# reason: pairs-by-number
def partners(groups, is_record):
    groups = list(groups)
    waiting, found = {}, [-1] * len(groups)
    for place, group in enumerate(groups):
        if is_record[place]:
            waiting.setdefault(group, []).append(place)
        elif waiting.get(group):
            found[waiting[group].pop(0)] = place - groups.index(group)
    return found
