# exercise: 3
# differs: no generator function, but a filter that remembers the last position
from kminilog.format.index_entry import entry_for


def due_entries(messages, base_offset, interval_bytes, last_indexed_position=0):
    last = [last_indexed_position]

    def is_far(message):
        if message[1] <= last[0] + interval_bytes:
            return False
        last[0] = message[1]
        return True

    return (entry_for(*message, base_offset) for message in filter(is_far, messages))
