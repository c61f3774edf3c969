# exercise: 6
# reason: asks-every-block
def find_altered(source, log):
    for first in range(0, len(source), 64):
        end = min(first + 64, len(source))
        if source.sum(first, end) != log.sum(first, end):
            return next(n for n in range(first, end) if source.read(n) != log.read(n))
    return None
