# exercise: 1
# reason: zero-is-falsy
from kminilog.format.message import CorruptMessage, NeedMoreBytes, is_next_message


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "unfinished"
    if isinstance(outcome, CorruptMessage):
        return "damaged"
    if next_offset and not is_next_message(outcome, next_offset):
        return "wrong offset"
    return None
