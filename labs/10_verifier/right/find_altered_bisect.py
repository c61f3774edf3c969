# exercise: 6
# differs: bisect of the standard library, over sums from the beginning
from bisect import bisect_left


def find_altered(source, log):
    ends = [*range(64, len(source), 64), len(source)]
    block = bisect_left(ends, True, key=lambda end: source.sum(0, end) != log.sum(0, end))
    if block == len(ends):
        return None
    rows = range(block * 64, ends[block])
    return next(row for row in rows if source.read(row) != log.read(row))
