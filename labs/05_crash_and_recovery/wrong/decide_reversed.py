# exercise: 2
# reason: decision-reversed
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    return Decision.CUT if is_whole_message_after() else Decision.REFUSE
