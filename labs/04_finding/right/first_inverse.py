# exercise: 2
# differs: looks for the offset whose segment would have this name
def first_offset(self, base_offset):
    candidates = [base_offset, base_offset + 1] if base_offset else [base_offset]
    return next(each for each in candidates if self.base_offset_for(each) == base_offset)
