# exercise: 1
# reason: skip-bad-message
from kminilog.format.message import CorruptMessage, NeedMoreBytes, is_next_message


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "too few bytes"
    if not isinstance(outcome, CorruptMessage) and not is_next_message(outcome, next_offset):
        return "another offset"
    return None
