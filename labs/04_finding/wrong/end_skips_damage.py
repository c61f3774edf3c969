# exercise: 3
# reason: skip-bad-message
from kminilog.storage.segment.whole_messages import whole_messages


def end_offset(self):
    entry = self.last_true_entry()
    following = self.base_offset + entry.relative_offset if entry else self.first_offset
    start = entry.position if entry else 0
    for _, message in whole_messages(self.log_path, start):
        following = message.offset + 1
    return following
