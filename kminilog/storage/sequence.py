"""Messages in the order of their offsets, from one of them on, across segments.

    located message --> the rest of its segment --> the next segment --> ... up to `max_bytes`

A sequence ends in front of anything that is not the next message, and in front of a segment that
does not begin with the next offset. A new search from there tells what it is.
Source: Kafka: Log.read.
"""

from collections.abc import Callable, Iterator

from kminilog.format.message import CODECS, Message, is_next_message
from kminilog.storage.segment import Segment
from kminilog.storage.segment_search import Located

SegmentAfter = Callable[[Segment], Segment | None]
_MAX_WINDOW_BYTES = 1 << 20


def messages_from(
    segment: Segment, located: Located, max_bytes: int, segment_after: SegmentAfter
) -> list[Message]:
    """Return a located message and those that follow it, within `max_bytes`; at least one.

    Ends also in front of a compressed message. An empty list if the file was deleted meanwhile.
    """
    messages: list[Message] = []
    total_bytes = 0
    for message in _in_turn(segment, located, max_bytes, segment_after):
        total_bytes += message.length_bytes
        if messages and (total_bytes > max_bytes or message.codec != CODECS[0]):
            break
        messages.append(message)
    return messages


def _in_turn(
    segment: Segment, located: Located, max_bytes: int, segment_after: SegmentAfter
) -> Iterator[Message]:
    window_bytes = min(max(max_bytes, located.message.length_bytes), _MAX_WINDOW_BYTES)
    position, next_offset = located.position, located.message.offset
    following: Segment | None = segment
    while following:
        try:
            for _, outcome in following.scan(position, window_bytes):
                if not isinstance(outcome, Message) or not is_next_message(outcome, next_offset):
                    return
                yield outcome
                next_offset = outcome.offset + 1
        except FileNotFoundError:
            return
        following, position = segment_after(following), 0
        if following and following.first_offset != next_offset:
            return
