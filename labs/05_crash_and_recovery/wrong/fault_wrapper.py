# exercise: 1
# reason: wrapper-is-fault
from kminilog.format.message import CorruptMessage, NeedMoreBytes


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "too few bytes"
    if isinstance(outcome, CorruptMessage):
        return outcome.detail
    if outcome.offset != next_offset:
        return "another offset"
    return None
