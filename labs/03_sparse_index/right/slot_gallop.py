# exercise: 3
# differs: doubles the steps from the front, and then halves them.


def entry_slot(relative_offsets, relative_offset, tracer=None):
    step = 1
    while step <= len(relative_offsets) and relative_offsets[step - 1] <= relative_offset:
        step *= 2
    slot = step // 2 - 1 if step > 1 else -1
    while step:
        beyond = slot + step
        if beyond < len(relative_offsets) and relative_offsets[beyond] <= relative_offset:
            slot = beyond
        step //= 2
    return slot
