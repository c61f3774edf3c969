# exercise: 3
# reason: goes-back
def partners(groups, is_record):
    groups, is_record = list(groups), list(is_record)
    taken, found = set(), [-1] * len(groups)
    for record, group in enumerate(groups):
        if is_record[record]:
            for place, other in enumerate(groups):
                if other == group and not is_record[place] and place not in taken:
                    taken.add(place)
                    found[record] = place
                    break
    return found
