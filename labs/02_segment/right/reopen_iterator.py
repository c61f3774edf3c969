# exercise: 4
# differs: an iterator that is asked for the next message, until the end of the file.
from kminilog.format.message import Message
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    entry = segment.last_true_entry()
    position = entry.position if entry else 0
    expected = segment.base_offset + entry.relative_offset if entry else segment.first_offset
    found = segment.scan(position)
    while (pair := next(found, None)) is not None:
        at, outcome = pair
        if not (isinstance(outcome, Message) and outcome.offset == expected):
            raise damage_error(segment, at, "not the next message")
        expected += 1
    return expected
