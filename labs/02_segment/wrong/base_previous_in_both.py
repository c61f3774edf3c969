# exercise: 5
# reason: previous-in-both


def base_offset_for(self, next_offset: int) -> int:
    return max(next_offset - 1, 0)
