# exercise: 3
# reason: trusts-offset
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    following = None
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if following is not None and not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return self.first_offset if following is None else following
