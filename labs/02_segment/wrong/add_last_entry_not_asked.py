# exercise: 2
# reason: last-entry-not-asked
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset: int, data: bytes) -> None:
    if is_due(self.size_bytes, getattr(self, "last_position", 0), self.index_interval_bytes):
        self.last_position = self.size_bytes
        self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.added.append(data)
    self.size_bytes += len(data)
