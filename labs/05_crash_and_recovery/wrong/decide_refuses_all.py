# exercise: 2
# reason: refuses-torn-tail
from kminilog.storage.recovery import Decision


def decide(fault, is_whole_message_behind):
    if fault is None:
        return Decision.KEEP
    is_whole_message_behind()
    return Decision.REFUSE
