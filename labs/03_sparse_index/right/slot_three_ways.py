# exercise: 3
# differs: a textbook's bisection, which reads an element up to three times.


def entry_slot(relative_offsets, relative_offset, tracer=None):
    low, high = 0, len(relative_offsets) - 1
    while low <= high:
        middle = (low + high) // 2
        if relative_offsets[middle] == relative_offset:
            return middle
        if relative_offsets[middle] < relative_offset:
            low = middle + 1
        elif relative_offsets[middle] > relative_offset:
            high = middle - 1
    return high
