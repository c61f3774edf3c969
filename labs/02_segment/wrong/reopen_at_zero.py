# exercise: 4
# reason: restart-at-zero


def next_offset(segment):
    return 0
