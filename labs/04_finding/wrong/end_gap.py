# exercise: 3
# reason: gap-is-fault
from kminilog.format.message import Message, is_next_message


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    for _, outcome in self.scan(entry.position if entry else 0):
        if not isinstance(outcome, Message) or not is_next_message(outcome, following):
            break
        following = outcome.offset + 1
    return following
