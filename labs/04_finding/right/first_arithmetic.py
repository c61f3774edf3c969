# exercise: 2
# differs: adds a truth value
def first_offset(self, base_offset):
    return base_offset + (self.named_by_previous and base_offset != 0)
