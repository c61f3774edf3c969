# exercise: 2
# reason: judges-by-words
from kminilog.storage.recovery import Decision


def decide(fault, is_whole_message_behind):
    if fault is None:
        return Decision.KEEP
    if "crc" in fault or "unfinished" in fault:
        return Decision.REFUSE if is_whole_message_behind() else Decision.CUT
    return Decision.REFUSE
