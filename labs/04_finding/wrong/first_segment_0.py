# exercise: 2
# reason: segment-0-from-1
def first_offset(self, base_offset):
    return base_offset + 1 if self.named_by_previous else base_offset
