# exercise: 1
# reason: starts-not-shifted


def runs(partitions, members):
    each, extra = divmod(partitions, members)
    found, start = [], 0
    for i in range(members):
        count = each + (i < extra)
        found.append((each * i, count))
        start += count
    return found
