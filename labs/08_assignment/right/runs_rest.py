# exercise: 1
# differs: each member takes its share of what is left, rounded up
def runs(partitions, members):
    found = []
    left = partitions
    for others in range(members, 0, -1):
        count = -(-left // others)
        found += [[partitions - left, count]]
        left -= count
    return found
