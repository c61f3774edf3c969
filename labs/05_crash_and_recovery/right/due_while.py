# exercise: 3
# differs: next() in a loop, and a limit instead of a distance
from kminilog.format.index_entry import IndexEntry


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    rest = iter(messages)
    limit = last_indexed_position + interval_bytes
    while (pair := next(rest, None)) is not None:
        if pair[1] > limit:
            relative_offset = pair[0] - base_offset
            if min(relative_offset, pair[1]) < 0 or max(relative_offset, pair[1]) >= 1 << 31:
                raise ValueError(f"no entry can hold {relative_offset} and {pair[1]}")
            yield IndexEntry(relative_offset, pair[1])
            limit = pair[1] + interval_bytes
