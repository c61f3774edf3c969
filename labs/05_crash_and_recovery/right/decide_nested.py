# exercise: 2
# differs: one expression, with the members imported by value
from kminilog.storage.partition.recovery import Decision

KEEP, CUT, REFUSE = Decision


def decide(fault, is_whole_message_after):
    return KEEP if fault is None else (CUT, REFUSE)[is_whole_message_after()]
