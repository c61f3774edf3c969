# exercise: 3
# differs: reads all that follows the entry into a list first
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    if entry:
        found = list(self.scan(entry.position))
        end = found[0][1].offset
    else:
        found = list(self.scan())
        end = self.first_offset
    for position, outcome in found:
        is_valid = type(outcome) is Message
        if is_valid and self.is_in_order(position, outcome, next_offset=end, following_offset=None):
            end = 1 + outcome.offset
        else:
            break
    return end
