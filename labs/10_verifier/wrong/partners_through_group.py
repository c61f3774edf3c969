# exercise: 3
# reason: goes-back
def partners(groups, is_record):
    groups, is_record = list(groups), list(is_record)
    taken, found = set(), [-1] * len(groups)
    for record, group in enumerate(groups):
        place = record
        while is_record[record] and place < len(groups) and groups[place] == group:
            if not is_record[place] and place not in taken:
                taken.add(place)
                found[record] = place
                break
            place += 1
    return found
