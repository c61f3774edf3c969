# exercise: 6
# reason: zero-is-falsy
def find_altered(source, log):
    first, last = 0, -(-len(source) // 64)
    while last - first > 1:
        middle = (first + last) // 2
        if source.sum(first * 64, middle * 64) != log.sum(first * 64, middle * 64):
            last = middle
        else:
            first = middle
    rows = range(first * 64, min(last * 64, len(source)))
    return sum(row for row in rows if source.read(row) != log.read(row)) or None
