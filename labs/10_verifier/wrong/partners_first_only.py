# exercise: 3
# reason: pairs-first-only
def partners(groups, is_record):
    groups = list(groups)
    found = [-1] * len(groups)
    for place in range(1, len(groups)):
        before = groups.index(groups[place])
        if is_record[before] and not is_record[place] and found[before] == -1:
            found[before] = place
    return found
