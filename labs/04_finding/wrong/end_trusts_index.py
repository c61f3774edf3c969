# exercise: 3
# reason: trust-index
from kminilog.format.message import Message
from kminilog.format.names import MAX_OFFSET


def end_offset(self):
    self.index.load()
    entry = self.index.lookup(MAX_OFFSET)
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return following
