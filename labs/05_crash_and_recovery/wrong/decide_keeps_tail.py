# exercise: 2
# reason: torn-is-fine
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None or (fault == "unfinished message" and not is_whole_message_after()):
        return Decision.KEEP
    return Decision.REFUSE if is_whole_message_after() else Decision.CUT
