# exercise: 2
# reason: refuses-torn-tail
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    is_whole_message_after()
    return Decision.REFUSE
