# exercise: 3
# reason: last-not-next
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    last = following - 1
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, last + 1, None):
            break
        last = outcome.offset
    return last
