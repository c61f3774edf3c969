# exercise: 1
# reason: remainder-dropped


def runs(partitions, members):
    each = partitions // members
    return [(each * i, each) for i in range(members)]
