# exercise: 3
# differs: looks one message ahead, and decides on the one before it
from itertools import chain, pairwise

from kminilog.format.index_entry import entry_for, is_due


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = last_indexed_position
    for (offset, position), _ in pairwise(chain(messages, [None])):
        if is_due(position, last, interval_bytes):
            yield entry_for(offset, position, base_offset)
            last = position
