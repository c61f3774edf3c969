# exercise: 2
# reason: own-bytes-counted
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset: int, data: bytes) -> None:
    position = self.size_bytes
    self.size_bytes += len(data)
    self.added.append(data)
    if is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
        self.index.add(entry_for(offset, position, self.base_offset))
