# exercise: 2
# reason: refuses-torn-page
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    if fault == "unfinished message" and not is_whole_message_after():
        return Decision.CUT
    return Decision.REFUSE
