# exercise: 4
# reason: accepts-damage


def next_offset(segment):
    return segment.end_offset()
