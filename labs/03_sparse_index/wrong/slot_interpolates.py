# exercise: 3
# reason: linear-scan
def entry_slot(relative_offsets, relative_offset, tracer=None):
    low, high = 0, len(relative_offsets) - 1
    while low <= high and relative_offsets[low] <= relative_offset:
        if relative_offsets[high] <= relative_offset:
            return high
        span = relative_offsets[high] - relative_offsets[low]
        part = (relative_offset - relative_offsets[low]) / span
        guess = low + int(part * (high - low))
        if relative_offsets[guess] <= relative_offset:
            low = guess + 1
        else:
            high = guess - 1
    return low - 1
