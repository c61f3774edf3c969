# exercise: 5
# differs: calculates with truth values.


def base_offset_for(self, next_offset):
    return next_offset - (self.named_by_previous and next_offset > 0)
