# exercise: 2
# differs: asks the last entry instead of last_position, and makes the entry itself.
from kminilog.format.index_entry import IndexEntry


def add(self, offset, data):
    entry = self.index.last_entry
    last = entry.position if entry else 0
    if self.size_bytes > last + self.index_interval_bytes:
        self.index.add(IndexEntry(offset - self.base_offset, self.size_bytes))
    self.added += [data]
    self.size_bytes = self.size_bytes + len(data)
