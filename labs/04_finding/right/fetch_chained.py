# exercise: 4
# differs: one chain of all messages, and the limits in a second loop
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    def outcomes():
        at, position = segment, located.position
        while at is not None:
            yield from (outcome for _, outcome in at.scan(position))
            at, position = segment_after(at), 0

    messages = []
    room, expected = max_bytes, located.message.offset
    try:
        for outcome in outcomes():
            if not (isinstance(outcome, Message) and is_next_message(outcome, expected)):
                break
            room -= outcome.length_bytes
            if messages and (room < 0 or outcome.codec != "none"):
                break
            messages.append(outcome)
            expected = outcome.offset + 1
    except FileNotFoundError:
        pass
    return messages
