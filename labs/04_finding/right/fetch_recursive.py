# exercise: 4
# differs: a function that calls itself for the next segment
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    found = []

    def read(each, position, expected, room):
        if each is None or each.first_offset > expected:
            return
        try:
            for _, outcome in each.scan(position):
                if not isinstance(outcome, Message) or not is_next_message(outcome, expected):
                    return
                room -= outcome.length_bytes
                if found and (room < 0 or outcome.codec != "none"):
                    return
                found.append(outcome)
                expected = outcome.offset + 1
        except FileNotFoundError:
            return
        read(segment_after(each), 0, expected, room)

    read(segment, located.position, located.message.offset, max_bytes)
    return found
