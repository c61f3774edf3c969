# exercise: 1
# reason: as-float


def segment_name(base_offset: int) -> str:
    return f"{base_offset:020.0f}"
