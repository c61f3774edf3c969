# exercise: 3
# reason: trust-index
from kminilog.format.message import Message


def end_offset(self):
    self.index.load()
    entry = self.index.last_entry
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return following
