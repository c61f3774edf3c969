# exercise: 4
# reason: accepts-damage
from kminilog.format.message import Message
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    count = 0
    for position, outcome in segment.scan():
        if not isinstance(outcome, Message):
            raise damage_error(segment, position, "this is no message")
        count += 1
    return segment.first_offset + count
