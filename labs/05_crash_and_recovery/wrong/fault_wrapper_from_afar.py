# exercise: 1
# reason: wrapper-from-afar
from kminilog.format.message import Message


def fault(outcome, next_offset):
    if not isinstance(outcome, Message):
        return "no message"
    if outcome.is_compressed and outcome.offset > next_offset:
        return None
    return None if outcome.offset == next_offset else "another offset"
