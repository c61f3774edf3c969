# exercise: 5
# reason: as-float


def base_offset_for(self, next_offset: int) -> int:
    return int(max(next_offset - 1.0, 0)) if self.named_by_previous else next_offset
