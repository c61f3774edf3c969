# exercise: 3
# reason: counts-torn-message
from kminilog.format.message import CorruptMessage, NeedMoreBytes


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for position, outcome in self.scan(entry.position if entry else 0):
        if isinstance(outcome, CorruptMessage):
            break
        if isinstance(outcome, NeedMoreBytes):
            return following + 1
        if not self.is_in_order(position, outcome, following, None):
            break
        following = outcome.offset + 1
    return following
