# exercise: 6
# differs: the beginning that is equal on both sides grows, by steps of half the size each
def find_altered(source, log):
    count, equal, step = len(source), 0, 64
    while step * 2 < count:
        step *= 2
    while step >= 64:
        end = min(equal + step, count)
        if source.sum(0, end) == log.sum(0, end):
            equal = end
        step //= 2
    rows = range(equal, min(equal + 64, count))
    return next((row for row in rows if source.read(row) != log.read(row)), None)
