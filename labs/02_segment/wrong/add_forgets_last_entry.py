# exercise: 2
# reason: forgets-last-entry
from kminilog.format.index_entry import entry_for


def add(self, offset: int, data: bytes) -> None:
    if self.size_bytes > self.index_interval_bytes:
        self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.added.append(data)
    self.size_bytes += len(data)
