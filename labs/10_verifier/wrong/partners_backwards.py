# exercise: 3
# reason: pairs-backwards
def partners(groups, is_record):
    found = [-1] * len(groups)
    for group in set(groups):
        places = [place for place, each in enumerate(groups) if each == group]
        messages = [place for place in places if not is_record[place]]
        for place in places:
            if is_record[place] and messages:
                found[place] = messages.pop()
    return found
