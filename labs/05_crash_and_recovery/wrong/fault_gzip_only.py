# exercise: 1
# reason: wrapper-is-fault
from kminilog.format.message import CorruptMessage, NeedMoreBytes


def fault(outcome, next_offset):
    if isinstance(outcome, NeedMoreBytes):
        return "unfinished"
    if isinstance(outcome, CorruptMessage):
        return "damaged"
    if outcome.offset == next_offset:
        return None
    if outcome.attributes == 1 and outcome.offset > next_offset:
        return None
    return "wrong offset"
