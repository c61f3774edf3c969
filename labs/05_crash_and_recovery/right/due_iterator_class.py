# exercise: 3
# differs: an iterator of its own class
from kminilog.format.index_entry import entry_for, is_due


class Due:
    def __init__(self, messages, base_offset, interval_bytes, last):
        self.messages, self.base_offset = iter(messages), base_offset
        self.interval_bytes, self.last = interval_bytes, last

    def __iter__(self):
        return self

    def __next__(self):
        for offset, position in self.messages:
            if is_due(position, self.last, self.interval_bytes):
                self.last = position
                return entry_for(offset, position, self.base_offset)
        raise StopIteration


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    return Due(messages, base_offset, interval_bytes, last_indexed_position)
