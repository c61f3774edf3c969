# exercise: 3
# reason: reads-all-first
from kminilog.format.index_entry import entry_for, is_due


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    entries = []
    last = last_indexed_position
    for offset, position in messages:
        if is_due(position, last, interval_bytes):
            entries.append(entry_for(offset, position, base_offset))
            last = position
    return entries
