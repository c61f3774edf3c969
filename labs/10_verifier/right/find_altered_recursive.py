# exercise: 6
# differs: a function that calls itself, for the half that differs
def find_altered(source, log):
    def differ(first, end):
        return source.sum(first, end) != log.sum(first, end)

    def search(borders):
        if len(borders) == 2:
            return next(row for row in range(*borders) if source.read(row) != log.read(row))
        half = len(borders) // 2
        left, right = borders[: half + 1], borders[half:]
        return search(left if differ(left[0], left[-1]) else right)

    borders = [*range(0, len(source), 64), len(source)]
    return search(borders) if differ(0, len(source)) else None
