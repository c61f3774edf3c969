# exercise: 4
# reason: stops-at-segment
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    messages, total, following = [], 0, located.message.offset
    for _, outcome in segment.scan(located.position):
        if not isinstance(outcome, Message) or not is_next_message(outcome, following):
            break
        total += outcome.length_bytes
        if messages and (total > max_bytes or outcome.codec != "none"):
            break
        messages.append(outcome)
        following = outcome.offset + 1
    return messages
