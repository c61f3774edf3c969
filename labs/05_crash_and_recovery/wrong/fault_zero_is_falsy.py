# exercise: 1
# reason: zero-is-falsy
from kminilog.format.message import CorruptMessage, NeedMoreBytes, follows


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "unfinished"
    if isinstance(outcome, CorruptMessage):
        return "damaged"
    if next_offset and not follows(outcome, next_offset):
        return "wrong offset"
    return None
