# exercise: 3
# reason: set-subtract
def partners(groups, is_record):
    stored = {}
    for place, group in enumerate(groups):
        if not is_record[place]:
            stored.setdefault(group, place)
    return [stored.get(group, -1) if r else -1 for group, r in zip(groups, is_record, strict=False)]
