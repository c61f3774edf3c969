# exercise: 5
# differs: the greater of two by sorting.


def base_offset_for(self, next_offset):
    return sorted((0, next_offset - int(self.named_by_previous)))[-1]
