# exercise: 1
# reason: skip-bad-message
from kminilog.format.message import CorruptMessage, NeedMoreBytes, follows


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "too few bytes"
    if not isinstance(outcome, CorruptMessage) and not follows(outcome, next_offset):
        return "another offset"
    return None
