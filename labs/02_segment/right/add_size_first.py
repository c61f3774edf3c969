# exercise: 2
# differs: the size grows first, the position is kept; the message is a bytearray.
from kminilog.format.index_entry import entry_for, is_due


def add(self, offset, data):
    position = self.size_bytes
    self.size_bytes += len(data)
    self.added += [bytearray(data)]
    if not is_due(position, self.index.last_position, self.index_interval_bytes):
        return
    self.index.add(entry_for(offset=offset, position=position, base_offset=self.base_offset))
