# exercise: 6
# reason: reads-all
def find_altered(source, log):
    count = len(source)
    if source.sum(0, count) == log.sum(0, count):
        return None
    first, last = 0, -(-count // 64)
    while last - first > 4:
        middle = (first + last) // 2
        if source.sum(first * 64, middle * 64) != log.sum(first * 64, middle * 64):
            last = middle
        else:
            first = middle
    rows = range(first * 64, min(last * 64, count))
    return next((row for row in rows if source.read(row) != log.read(row)), None)
