# exercise: 4
# reason: accepts-damage
from kminilog.format.message import NeedMoreBytes
from kminilog.storage.segment.scan import fault
from kminilog.storage.segment.segment import damage_error


def next_offset(segment):
    expected = segment.first_offset
    for position, outcome in segment.scan():
        if isinstance(outcome, NeedMoreBytes):
            break
        if reason := fault(outcome, expected):
            raise damage_error(segment, position, reason)
        expected += 1
    return expected
