# exercise: 6
# reason: finds-without-fault
from bisect import bisect_left


def find_altered(source, log):
    ends = [*range(64, len(source), 64), len(source)]
    block = bisect_left(ends, True, key=lambda end: source.sum(0, end) != log.sum(0, end))
    rows = range(min(block, len(ends) - 1) * 64, ends[min(block, len(ends) - 1)])
    return next((row for row in rows if source.read(row) != log.read(row)), 0)
