# exercise: 2
# reason: torn-is-fine
from kminilog.storage.recovery import Decision


def decide(fault, is_whole_message_behind):
    if fault is None or (fault == "unfinished message" and not is_whole_message_behind()):
        return Decision.KEEP
    return Decision.REFUSE if is_whole_message_behind() else Decision.CUT
