# exercise: 2
# reason: absolute-offsets
from kminilog.format.index_entry import IndexEntry, is_due


def add(self, offset: int, data: bytes) -> None:
    if is_due(self.size_bytes, self.index.last_position, self.index_interval_bytes):
        self.index.add(IndexEntry(offset, self.size_bytes))
    self.added.append(data)
    self.size_bytes += len(data)
