# exercise: 2
# differs: looks up the decision in a table by two truth values
from kminilog.storage.partition.recovery import Decision

TABLE = {(False, False): "keep", (True, False): "cut", (True, True): "refuse"}


def decide(fault, is_whole_message_after):
    is_fault = fault is not None
    return Decision(TABLE[is_fault, is_fault and is_whole_message_after()])
