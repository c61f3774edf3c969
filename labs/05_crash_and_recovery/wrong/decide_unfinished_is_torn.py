# exercise: 2
# reason: truncate-at-damaged-size
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    if fault == "unfinished message":
        return Decision.CUT
    return Decision.REFUSE if is_whole_message_after() else Decision.CUT
