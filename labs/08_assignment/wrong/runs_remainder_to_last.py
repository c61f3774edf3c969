# exercise: 1
# reason: remainder-to-last


def runs(partitions, members):
    each, extra = divmod(partitions, members)
    found, start = [], 0
    for i in range(members):
        count = each + (i >= members - extra)
        found.append((start, count))
        start += count
    return found
