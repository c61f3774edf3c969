# exercise: 2
# reason: judges-by-words
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None or not fault.strip():
        return Decision.KEEP
    return Decision.REFUSE if is_whole_message_after() else Decision.CUT
