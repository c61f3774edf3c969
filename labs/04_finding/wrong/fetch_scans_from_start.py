# exercise: 4
# reason: begins-at-segment
from kminilog.format.message import Message, is_next_message


def messages_from(segment, located, max_bytes, segment_after):
    messages, total = [], 0
    following = segment.first_offset
    while segment and segment.first_offset <= following:
        try:
            for _, outcome in segment.scan():
                if not isinstance(outcome, Message) or not is_next_message(outcome, following):
                    return messages
                following = outcome.offset + 1
                if outcome.offset < located.message.offset:
                    continue
                total += outcome.length_bytes
                if messages and (total > max_bytes or outcome.codec != "none"):
                    return messages
                messages.append(outcome)
        except FileNotFoundError:
            return messages
        segment = segment_after(segment)
    return messages
