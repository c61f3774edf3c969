# exercise: 2
# reason: judges-by-words
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    if "crc" in fault or "unfinished" in fault:
        return Decision.REFUSE if is_whole_message_after() else Decision.CUT
    return Decision.REFUSE
