# exercise: 3
# reason: ignores-index
from kminilog.format.message import Message


def end_offset(self):
    following = self.first_offset
    for position, outcome in self.scan():
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return following
