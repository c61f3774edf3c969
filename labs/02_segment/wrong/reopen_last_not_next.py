# exercise: 4
# reason: last-not-next
from kminilog.format.message import Message


def next_offset(segment):
    last = segment.first_offset - 1
    for _, outcome in segment.scan():
        if isinstance(outcome, Message):
            last = outcome.offset
    return last
