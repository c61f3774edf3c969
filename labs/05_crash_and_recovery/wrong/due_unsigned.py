# exercise: 3
# reason: overflow-unnoticed
from kminilog.format.index_entry import IndexEntry


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = last_indexed_position
    for offset, position in messages:
        if position - last > interval_bytes:
            if not 0 <= offset - base_offset <= 2**31 - 1:
                raise ValueError(offset)
            yield IndexEntry(offset - base_offset, position)
            last = position
