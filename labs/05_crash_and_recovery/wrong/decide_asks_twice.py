# exercise: 2
# reason: asks-twice
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    if not is_whole_message_after():
        return Decision.CUT
    if is_whole_message_after():
        return Decision.REFUSE
