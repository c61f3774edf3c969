# exercise: 3
# reason: index-every-message
from kminilog.format.index_entry import entry_for


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    for offset, position in messages:
        yield entry_for(offset, position, base_offset)
