# exercise: 3
# reason: trusts-offset
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for _, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if outcome.offset != following and not self.allows_gaps:
            break
        following = outcome.offset + 1
    return following
