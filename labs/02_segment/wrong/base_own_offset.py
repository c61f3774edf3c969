# exercise: 5
# reason: name-is-own-offset


def base_offset_for(self, next_offset: int) -> int:
    return next_offset
