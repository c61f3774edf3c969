# exercise: 4
# reason: zero-is-falsy
from kminilog.format.message import Message


def messages_from(segment, located, max_bytes, segment_after):
    room = (max_bytes or 1 << 30) - located.message.length_bytes
    messages, following = [located.message], segment
    position = located.position + located.message.length_bytes
    while following:
        try:
            for _, outcome in following.scan(position):
                if not isinstance(outcome, Message) or outcome.is_compressed:
                    return messages
                room -= outcome.length_bytes
                if room < 0 or outcome.offset != messages[-1].offset + 1:
                    return messages
                messages.append(outcome)
        except FileNotFoundError:
            return messages
        following, position = segment_after(following), 0
    return messages
