# exercise: 2
# differs: match instead of conditions
from kminilog.storage.partition.recovery import Decision


def decide(fault, is_whole_message_after):
    match fault:
        case None:
            return Decision.KEEP
        case _ if is_whole_message_after():
            return Decision.REFUSE
        case _:
            return Decision.CUT
