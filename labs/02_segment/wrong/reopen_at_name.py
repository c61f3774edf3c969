# exercise: 4
# reason: restart-at-name


def next_offset(segment):
    return segment.first_offset
