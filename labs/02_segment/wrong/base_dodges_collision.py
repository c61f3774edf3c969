# exercise: 5
# reason: dodges-collision


def base_offset_for(self, next_offset: int) -> int:
    if self.named_by_previous and next_offset > 1:
        return next_offset - 1
    return next_offset
