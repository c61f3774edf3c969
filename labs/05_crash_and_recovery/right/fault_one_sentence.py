# exercise: 1
# differs: one sentence for all faults
from kminilog.format.message import Message, is_next_message


def fault(outcome, next_offset):
    if isinstance(outcome, Message) and is_next_message(outcome, next_offset):
        return None
    return f"this is not message {next_offset}: {outcome!r}"
