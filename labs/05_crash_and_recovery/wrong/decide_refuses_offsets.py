# exercise: 2
# reason: judges-by-words
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    if "offset" in fault or is_whole_message_after():
        return Decision.REFUSE
    return Decision.CUT
