# exercise: 4
# reason: sizes-are-equal
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    count = max(max_bytes // located.message.length_bytes, 1)
    messages = []
    position, following = located.position, located.message.offset
    while segment and segment.first_offset <= following:
        try:
            for _, outcome in segment.scan(position):
                if not isinstance(outcome, Message) or not is_next_message(outcome, following):
                    return messages
                if messages and (len(messages) == count or outcome.codec != "none"):
                    return messages
                messages.append(outcome)
                following = outcome.offset + 1
        except FileNotFoundError:
            return messages
        segment, position = segment_after(segment), 0
    return messages
