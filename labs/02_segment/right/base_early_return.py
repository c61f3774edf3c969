# exercise: 5
# differs: the first segment comes first, and the dialects are told by their names.


def base_offset_for(self, next_offset):
    if next_offset == 0:
        return 0
    match self.name:
        case "kafka":
            return next_offset
    return next_offset - 1
