# exercise: 2
# reason: indexes-first-message
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset: int, data: bytes) -> None:
    is_first = not self.size_bytes
    if is_first or is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
        self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.added.append(data)
    self.size_bytes += len(data)
