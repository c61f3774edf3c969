# exercise: 1
# reason: no-zero-pad


def segment_name(base_offset: int) -> str:
    return str(base_offset)
