# exercise: 3
# reason: plain-tuple
from kminilog.format.index_entry import is_due


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = last_indexed_position
    for offset, position in messages:
        if is_due(position, last, interval_bytes):
            if offset - base_offset > 2**31 - 1:
                raise ValueError("too great")
            yield offset - base_offset, position
            last = position
