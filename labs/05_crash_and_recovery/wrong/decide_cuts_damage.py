# exercise: 2
# reason: cuts-damage
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    return Decision.KEEP if fault is None else Decision.CUT
