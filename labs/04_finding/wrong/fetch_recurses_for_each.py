# exercise: 4
# reason: recursion-for-each
from kminilog.format.message import Message


def messages_from(segment, located, max_bytes, segment_after):
    def rest(each, outcomes, expected, room):
        try:
            _, outcome = next(outcomes, (0, None))
        except FileNotFoundError:
            return []
        if outcome is None:
            each = segment_after(each)
            return rest(each, each.scan(), expected, room) if each else []
        if not isinstance(outcome, Message) or outcome.offset != expected:
            return []
        room -= outcome.length_bytes
        is_first = expected == located.message.offset
        if not is_first and (room < 0 or outcome.is_compressed):
            return []
        return [outcome, *rest(each, outcomes, expected + 1, room)]

    return rest(segment, segment.scan(located.position), located.message.offset, max_bytes)
