# exercise: 3
# reason: accepts-negative
from kminilog.format.index_entry import IndexEntry


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = last_indexed_position
    for offset, position in messages:
        if position - last > interval_bytes:
            if offset - base_offset >= 2**31 or position >= 2**31:
                raise ValueError(offset)
            yield IndexEntry(offset - base_offset, position)
            last = position
