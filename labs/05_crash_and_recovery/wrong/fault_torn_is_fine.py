# exercise: 1
# reason: torn-is-fine
from kminilog.format.message import CorruptMessage, NeedMoreBytes, is_next_message


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return None
    if isinstance(outcome, CorruptMessage):
        return outcome.detail
    if not is_next_message(outcome, next_offset):
        return "another offset"
    return None
