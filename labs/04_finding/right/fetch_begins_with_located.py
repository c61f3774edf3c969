# exercise: 4
# differs: begins with the message that the caller has found, and reads on after it
from kminilog.format.message import Message


def messages_from(segment, located, max_bytes, segment_after):
    messages = [located.message]
    position = located.position + located.message.length_bytes
    while segment is not None:
        try:
            found = list(segment.scan(position))
        except FileNotFoundError:
            break
        for _, outcome in found:
            total = sum(each.length_bytes for each in messages)
            if (
                not isinstance(outcome, Message)
                or outcome.offset != messages[-1].offset + 1
                or outcome.attributes & 7
                or total + outcome.length_bytes > max_bytes
            ):
                return messages
            messages.append(outcome)
        segment, position = segment_after(segment), 0
        if segment is not None and segment.first_offset != messages[-1].offset + 1:
            break
    return messages
