# exercise: 2
# reason: asks-when-sound
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    has_more = is_whole_message_after()
    if fault is None:
        return Decision.KEEP
    return Decision.REFUSE if has_more else Decision.CUT
