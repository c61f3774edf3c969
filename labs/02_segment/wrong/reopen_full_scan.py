# exercise: 4
# reason: reads-whole-segment
from kminilog.errors import CorruptLogError
from kminilog.format.message import Message


def next_offset(segment):
    expected = segment.first_offset
    for position, outcome in segment.scan():
        if not isinstance(outcome, Message) or outcome.offset != expected:
            raise CorruptLogError(str(segment.log_path), position=position, reason="a fault")
        expected += 1
    return expected
