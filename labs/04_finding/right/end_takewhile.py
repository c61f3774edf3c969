# exercise: 3
# differs: a generator of the valid offsets, and the greatest of them
from kminilog.format.message import Message


def end_offset(self):
    entry = self.last_true_entry()
    position, start = 0, self.first_offset
    if entry is not None:
        position, start = entry.position, self.base_offset + entry.relative_offset

    def sound_offsets(expected):
        for at, outcome in self.scan(position):
            if not (isinstance(outcome, Message) and self.is_in_order(at, outcome, expected, None)):
                return
            expected = outcome.offset + 1
            yield expected

    return max(sound_offsets(start), default=start)
