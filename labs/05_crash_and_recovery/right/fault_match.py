# exercise: 1
# differs: match with patterns, and its own comparison of offsets
from kminilog.format.message import MAX_INSIDE, CorruptMessage, Message, NeedMoreBytes


def fault(outcome, next_offset):
    match outcome:
        case NeedMoreBytes(needed_bytes):
            return f"{needed_bytes} bytes are needed"
        case CorruptMessage(reason, detail):
            return f"{reason}: {detail}"
        case Message(offset=offset, codec="none"):
            return None if offset == next_offset else f"{offset} is not {next_offset}"
        case Message(offset=offset):
            return None if 0 <= offset - next_offset < MAX_INSIDE else f"{offset} is far off"
