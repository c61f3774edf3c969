# exercise: 2
# differs: the library's rule for many messages, with this one.
from kminilog.format.index_entry import due_entries


def add(self, offset, data):
    places = [(offset, self.size_bytes)]
    last = self.index.last_position
    for entry in due_entries(places, self.base_offset, self.index_interval_bytes, last):
        self.index.add(entry)
    self.added.append(data)
    self.size_bytes += len(data)
