# exercise: 2
# reason: as-float
def first_offset(self, base_offset):
    return int(float(base_offset)) + (self.named_by_previous and base_offset != 0)
