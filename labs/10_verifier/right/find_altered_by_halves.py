# exercise: 6
# differs: halves of blocks in a loop
BLOCK = 64


def find_altered(source, log):
    count = len(source)
    if source.sum(0, count) == log.sum(0, count):
        return None
    low, high = 0, -(-count // BLOCK)
    while high - low > 1:
        middle = (low + high) // 2
        first, end = low * BLOCK, middle * BLOCK
        if source.sum(first, end) != log.sum(first, end):
            high = middle
        else:
            low = middle
    for number in range(low * BLOCK, min(high * BLOCK, count)):
        if source.read(number) != log.read(number):
            return number
    return None
