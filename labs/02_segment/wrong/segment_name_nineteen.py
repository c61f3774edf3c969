# exercise: 1
# reason: nineteen-digits


def segment_name(base_offset: int) -> str:
    return f"{base_offset:019d}"
