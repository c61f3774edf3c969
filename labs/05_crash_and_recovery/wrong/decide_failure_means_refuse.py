# exercise: 2
# reason: failure-means-refuse
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    if fault is None:
        return Decision.KEEP
    try:
        return Decision.REFUSE if is_whole_message_after() else Decision.CUT
    except Exception:
        return Decision.REFUSE
