# exercise: 4
# reason: stops-after-compressed
from kminilog.format.message import Message


def messages_from(segment, located, max_bytes, segment_after):
    messages, room = [located.message], max_bytes - located.message.length_bytes
    position, following = located.position + located.message.length_bytes, segment
    while following and not messages[-1].is_compressed:
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
