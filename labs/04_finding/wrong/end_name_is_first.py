# exercise: 3
# reason: name-is-first
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.base_offset
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return following
