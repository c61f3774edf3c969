# exercise: 3
# reason: trusts-offset
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for _, outcome in self.scan(entry.position if entry else 0):
        if isinstance(outcome, Message):
            following = outcome.offset + 1
    return following
