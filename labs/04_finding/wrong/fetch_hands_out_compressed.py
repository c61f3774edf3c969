# exercise: 4
# reason: hands-out-compressed
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    messages, total = [], 0
    position, following = located.position, located.message.offset
    while segment and segment.first_offset <= following:
        try:
            for _, outcome in segment.scan(position):
                if not isinstance(outcome, Message) or not is_next_message(outcome, following):
                    return messages
                total += outcome.length_bytes
                if messages and total > max_bytes:
                    return messages
                messages.append(outcome)
                following = outcome.offset + 1
        except FileNotFoundError:
            return messages
        segment, position = segment_after(segment), 0
    return messages
