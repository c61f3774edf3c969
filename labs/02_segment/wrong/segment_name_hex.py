# exercise: 1
# reason: name-in-hex


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020x}"
