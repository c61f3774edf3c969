# exercise: 2
# reason: added-read-again
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset, data):
    if is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
        self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.size_bytes += len(data)
    self.added = [*self.added, data]
