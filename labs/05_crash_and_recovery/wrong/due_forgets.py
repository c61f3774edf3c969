# exercise: 3
# reason: forgets-last-entry
from kminilog.format.index_entry import entry_for


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = last_indexed_position
    for offset, position in messages:
        if position - last > interval_bytes:
            yield entry_for(offset, position, base_offset)
