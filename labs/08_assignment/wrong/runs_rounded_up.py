# exercise: 1
# reason: multiple-instead


def runs(partitions, members):
    each = -(-partitions // members)
    starts = [min(each * i, partitions) for i in range(members)]
    return [(start, min(each, partitions - start)) for start in starts]
