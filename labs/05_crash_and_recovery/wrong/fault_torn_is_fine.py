# exercise: 1
# reason: torn-is-fine
from kminilog.format.message import CorruptMessage, NeedMoreBytes, follows


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return None
    if isinstance(outcome, CorruptMessage):
        return outcome.detail
    if not follows(outcome, next_offset):
        return "another offset"
    return None
