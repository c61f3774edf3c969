# exercise: 5
# reason: negative-name


def base_offset_for(self, next_offset: int) -> int:
    return next_offset - 1 if self.named_by_previous else next_offset
