# exercise: 2
# reason: added-read-again
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset, data):
    position = self.file_bytes + sum(len(each) for each in self.added)
    if is_due(position, self.index.last_position, self.index_interval_bytes):
        self.index.add(entry_for(offset, position, self.base_offset))
    self.added.append(data)
    self.size_bytes = position + len(data)
