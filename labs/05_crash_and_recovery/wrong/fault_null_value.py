# exercise: 1
# reason: null-is-fault
from kminilog.format.message import Message, is_next_message


def fault(outcome, next_offset):
    if not isinstance(outcome, Message) or outcome.value is None:
        return "no message with a value"
    return None if is_next_message(outcome, next_offset) else "another offset"
