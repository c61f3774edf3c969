# exercise: 1
# reason: plain-tuple


def entry_for(offset: int, position: int, base_offset: int):
    if not (0 <= offset - base_offset < 2**31 and 0 <= position < 2**31):
        raise ValueError("does not fit in 31 bits")
    return offset - base_offset, position
