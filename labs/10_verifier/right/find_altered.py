# exercise: 6
# differs: the course's own, because the library has no such function: halves of blocks in a loop
def find_altered(source, log):
    """Return the number of the one record that is altered in the log; None if all are equal.

    `source.sum(first, end)` and `log.sum(first, end)` cost no reading, `source.read(number)` and
    `log.read(number)` do. `len(source)` is the number of records.
    """
    count = len(source)
    if source.sum(0, count) == log.sum(0, count):
        return None
    low, high = 0, -(-count // 64)
    while high - low > 1:
        middle = (low + high) // 2
        first, end = low * 64, middle * 64
        if source.sum(first, end) != log.sum(first, end):
            high = middle
        else:
            low = middle
    for number in range(low * 64, min(high * 64, count)):
        if source.read(number) != log.read(number):
            return number
    return None
