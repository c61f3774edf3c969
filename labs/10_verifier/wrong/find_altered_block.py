# exercise: 6
# reason: names-the-block
from bisect import bisect_left


def find_altered(source, log):
    ends = [*range(64, len(source), 64), len(source)]
    block = bisect_left(ends, True, key=lambda end: source.sum(0, end) != log.sum(0, end))
    return block * 64 if block < len(ends) else None
