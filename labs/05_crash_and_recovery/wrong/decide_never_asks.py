# exercise: 2
# reason: never-asks
from kminilog.storage.recovery import Decision


def decide(fault, is_whole_message_behind):
    if fault is None:
        return Decision.KEEP
    return Decision.REFUSE if is_whole_message_behind else Decision.CUT
