# exercise: 1
# reason: end-not-count


def runs(partitions, members):
    each, extra = divmod(partitions, members)
    found, start = [], 0
    for i in range(members):
        count = each + (i < extra)
        found.append((start, start + count))
        start += count
    return found
