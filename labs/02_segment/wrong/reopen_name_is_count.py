# exercise: 4
# reason: name-is-count
from kminilog.errors import CorruptLogError
from kminilog.format.message import Message


def next_offset(segment):
    count = 0
    for position, outcome in segment.scan():
        expected = segment.first_offset + count
        if not isinstance(outcome, Message) or outcome.offset != expected:
            raise CorruptLogError(str(segment.log_path), position=position, reason="", remedy="")
        count += 1
    return segment.base_offset + count
