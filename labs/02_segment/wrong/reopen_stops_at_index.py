# exercise: 4
# reason: stops-at-index


def next_offset(segment):
    entry = segment.last_true_entry()
    return segment.base_offset + entry.relative_offset + 1 if entry else segment.end_offset()
