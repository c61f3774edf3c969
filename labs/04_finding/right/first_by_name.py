# exercise: 2
# differs: asks the dialect for its name
def first_offset(self, base_offset):
    if base_offset > 0 and self.name == "documented":
        return base_offset + 1
    return base_offset
