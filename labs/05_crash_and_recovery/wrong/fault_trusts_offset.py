# exercise: 1
# reason: trusts-offset
from kminilog.format.message import CorruptMessage, NeedMoreBytes


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "too few bytes"
    if isinstance(outcome, CorruptMessage):
        return outcome.detail
    return None
