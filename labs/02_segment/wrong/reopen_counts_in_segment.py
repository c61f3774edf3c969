# exercise: 4
# reason: offset-in-segment


def next_offset(segment):
    return sum(1 for _ in segment.scan())
