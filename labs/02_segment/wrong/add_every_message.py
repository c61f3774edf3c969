# exercise: 2
# reason: index-every-message
from kminilog.format.index_entry import entry_for


def add(self, offset: int, data: bytes) -> None:
    self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.added.append(data)
    self.size_bytes += len(data)
