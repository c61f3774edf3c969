# exercise: 2
# reason: due-in-each-block
from kminilog.format.index_entry import entry_for


def add(self, offset: int, data: bytes) -> None:
    block_bytes = self.index_interval_bytes or 1
    if self.size_bytes // block_bytes > self.index.last_position // block_bytes:
        self.index.add(entry_for(offset, self.size_bytes, self.base_offset))
    self.added.append(data)
    self.size_bytes += len(data)
