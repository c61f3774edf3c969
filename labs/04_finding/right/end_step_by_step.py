# exercise: 3
# differs: scans anew for each message
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    position = entry.position if entry else 0
    end = self.base_offset + entry.relative_offset if entry else self.first_offset
    while position < self.log_path.stat().st_size:
        _, outcome = next(iter(self.scan(position)))
        if not isinstance(outcome, Message):
            break
        if not self.is_in_order(position, outcome, end, None):
            break
        position += outcome.length_bytes
        end = outcome.offset + 1
    return end
