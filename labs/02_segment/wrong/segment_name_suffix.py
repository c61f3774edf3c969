# exercise: 1
# reason: suffix-in-name


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020}.log"
