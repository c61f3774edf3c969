# exercise: 3
# reason: remembers-end
from kminilog.format.message import Message


def end_offset(self):
    if hasattr(self, "_end"):
        return self._end
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for position, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message) or not self.is_in_order(
            position, outcome, following, None
        ):
            break
        following = outcome.offset + 1
    self._end = following
    return following
