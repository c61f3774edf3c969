# exercise: 3
# reason: pairs-balanced-only
def partners(groups, is_record):
    found = [-1] * len(groups)
    for group in set(groups):
        places = [place for place, each in enumerate(groups) if each == group]
        half = len(places) // 2
        if sum(is_record[place] for place in places) * 2 == len(places):
            for one, other in zip(places[:half], places[half:], strict=False):
                found[one] = other
    return found
