# exercise: 2
# reason: adds-one-in-kafka
def first_offset(self, base_offset):
    return base_offset + 1 if base_offset else 0
