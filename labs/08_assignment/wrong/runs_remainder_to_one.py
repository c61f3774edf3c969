# exercise: 1
# reason: remainder-to-one


def runs(partitions, members):
    each, extra = divmod(partitions, members)
    found, start = [], 0
    for i in range(members):
        count = each + (extra if i == members - 1 else 0)
        found.append((start, count))
        start += count
    return found
